// What a rank is doing and did lately. Written by the thread that calls, read by the sentinel when something is wrong.
#pragma once

#include <cobre/comm/detail/operation.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cobre::comm::tcp {

class Journal {
 public:
  static constexpr std::size_t depth = 64;  // operations that are remembered for explaining a disagreement
  using Clock = std::chrono::steady_clock;

  /// One line of it: the record, and how its writer came there.
  using Words = std::array<std::uint64_t, sizeof(detail::OperationRecord) / sizeof(std::uint64_t)>;

  /// The caller: an operation begins. `record.sequence` grows by one from call to call.
  ///
  /// A reader who finds any of the new words also finds the line's number cleared or newer: each store is a release,
  /// each load of the reader an acquire, so what it sees of the number afterwards is not older than what it saw of the
  /// words.
  void enter(const detail::OperationRecord& record) noexcept {
    Line& line = lines_[record.sequence % depth];
    const auto words = std::bit_cast<Words>(record);
    line.sequence.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < words.size(); ++i) line.words[i].store(words[i], std::memory_order_release);
    line.sequence.store(record.sequence, std::memory_order_release);
    began_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    entered_.store(record.sequence, std::memory_order_release);  // pairs with the acquire in entered()
  }
  /// The caller: it is over.
  void leave(std::uint64_t sequence) noexcept { left_.store(sequence, std::memory_order_release); }

  [[nodiscard]] std::uint64_t entered() const noexcept { return entered_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t left() const noexcept { return left_.load(std::memory_order_acquire); }
  [[nodiscard]] const std::atomic<std::uint64_t>& left_word() const noexcept { return left_; }
  /// When the operation that was entered last began.
  [[nodiscard]] Clock::time_point began() const noexcept {
    return Clock::time_point(Clock::duration(began_.load(std::memory_order_relaxed)));
  }

  /// Nothing where it was too long ago, or has not been yet.
  [[nodiscard]] std::optional<detail::OperationRecord> record(std::uint64_t sequence) const noexcept {
    const Line& line = lines_[sequence % depth];
    if (sequence == 0 || line.sequence.load(std::memory_order_acquire) != sequence) return std::nullopt;
    Words words{};
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = line.words[i].load(std::memory_order_acquire);
    if (line.sequence.load(std::memory_order_acquire) != sequence) return std::nullopt;
    return std::bit_cast<detail::OperationRecord>(words);
  }

 private:
  struct Line {
    std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>> words{};
    std::atomic<std::uint64_t> sequence{0};
  };

  std::array<Line, depth> lines_{};
  std::atomic<std::uint64_t> entered_{0};
  std::atomic<std::uint64_t> left_{0};
  std::atomic<Clock::duration::rep> began_{0};
};

}  // namespace cobre::comm::tcp
