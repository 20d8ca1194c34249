// Operations that a communicator knows nothing of by itself: its requests and plans run on duplicates of it, its fences
// in the memory of one host. Ranks that begin everything in one order are told apart from those that do not by two
// counts: of two ranks that cross, each is ahead of the other in one of them.
#pragma once

#include <cobre/comm/detail/operation.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/core/numbered_words.hpp"

namespace cobre::comm::core {

/// What one rank began beside the operations of a communicator, in that order. Zero bytes are its initial state.
class Aside {
 public:
  static constexpr std::size_t depth = 8;  // of them are remembered
  using Line = NumberedWords<sizeof(detail::OperationRecord) / sizeof(std::uint64_t)>;

  /// From any thread of the rank.
  void begin(const detail::OperationRecord& record) noexcept {
    // Each gets a line of its own, and who reads looks at the number of the line. Release: see Standing::of().
    const std::uint64_t number = begun_.fetch_add(1, std::memory_order_release) + 1;
    lines_[number % depth].write(number, std::bit_cast<Line::Words>(record));
  }
  [[nodiscard]] std::uint64_t begun() const noexcept { return begun_.load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<detail::OperationRecord> record(std::uint64_t number) const noexcept {
    const auto words = lines_[number % depth].read(number);
    if (!words) return std::nullopt;
    return std::bit_cast<detail::OperationRecord>(*words);
  }

 private:
  std::atomic<std::uint64_t> begun_{0};
  std::array<Line, depth> lines_{};
};

/// Where one rank is. 64-bit words without padding: it goes over the network as it is.
struct Standing {
  std::uint64_t entered = 0;                                   // operations of the communicator itself
  detail::OperationRecord last;                                // of them
  std::uint64_t begun = 0;                                     // beside it
  std::array<detail::OperationRecord, Aside::depth> beside{};  // number n at n % depth

  Standing() = default;
  Standing(std::uint64_t operations, const detail::OperationRecord& last_of_them, const Aside& aside) noexcept;

  /// Of a rank that goes on meanwhile, as it was at one moment; nothing where it goes on too fast. `entered()` acquires
  /// how many operations it entered, which the rank releases; `last(n)` is what the n-th of them was.
  ///
  /// Where that number is the same before and after the other one is read, whatever the rank began before it entered
  /// the last operation is counted, and so is whatever it entered before it began what was begun last: each count is
  /// released by the rank, and acquired here before the next one is read.
  template <class Entered, class Last>
  [[nodiscard]] static std::optional<Standing> of(const Entered& entered, const Last& last,
                                                  const Aside& aside) noexcept {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      const std::uint64_t before = entered();
      const Standing standing(before, last(before).value_or(detail::OperationRecord{}), aside);
      if (entered() == before) return standing;
    }
    return std::nullopt;
  }
};

/// By rank, nothing where that is not known. Where two cross, which nothing that they do later can change, what each
/// rank does that has one of the two operations that they begin in another order, and not the other.
[[nodiscard]] std::optional<std::vector<std::optional<detail::OperationRecord>>> crossing(
    std::span<const std::optional<Standing>> standings);

}  // namespace cobre::comm::core
