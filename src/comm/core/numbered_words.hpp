// A few words that belong together, under a number: one thread writes them, and whoever wonders reads them, from
// another process too. Neither waits.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cobre::comm::core {

/// Zero bytes are its initial state.
template <std::size_t Count>
struct NumberedWords {
  using Words = std::array<std::uint64_t, Count>;

  std::array<std::atomic<std::uint64_t>, Count> words{};
  std::atomic<std::uint64_t> number{0};  // 0 while the words are being replaced

  /// A reader who finds any of the new words also finds the number cleared or newer: each store is a release, each load
  /// of the reader an acquire, so what it sees of the number afterwards is not older than what it saw of the words.
  void write(std::uint64_t new_number, const Words& content) noexcept {
    number.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < Count; ++i) words[i].store(content[i], std::memory_order_release);
    number.store(new_number, std::memory_order_release);
  }
  /// Nothing where they have another number, or are being replaced.
  [[nodiscard]] std::optional<Words> read(std::uint64_t expected) const noexcept {
    if (expected == 0 || number.load(std::memory_order_acquire) != expected) return std::nullopt;
    Words content{};
    for (std::size_t i = 0; i < Count; ++i) content[i] = words[i].load(std::memory_order_acquire);
    if (number.load(std::memory_order_acquire) != expected) return std::nullopt;
    return content;
  }
};

}  // namespace cobre::comm::core
