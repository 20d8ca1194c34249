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

#include "comm/core/numbered_words.hpp"

namespace cobre::comm::tcp {

class Journal {
 public:
  static constexpr std::size_t depth = 64;  // operations that are remembered for explaining a disagreement
  using Clock = std::chrono::steady_clock;

  /// The caller: an operation begins. `record.sequence` grows by one from call to call.
  void enter(const detail::OperationRecord& record) noexcept {
    lines_[record.sequence % depth].write(record.sequence, std::bit_cast<Line::Words>(record));
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
    const auto words = lines_[sequence % depth].read(sequence);
    if (!words) return std::nullopt;
    return std::bit_cast<detail::OperationRecord>(*words);
  }

 private:
  using Line = core::NumberedWords<sizeof(detail::OperationRecord) / sizeof(std::uint64_t)>;

  std::array<Line, depth> lines_{};
  std::atomic<std::uint64_t> entered_{0};
  std::atomic<std::uint64_t> left_{0};
  std::atomic<Clock::duration::rep> began_{0};
};

}  // namespace cobre::comm::tcp
