// Where messages between two ranks lie in shared memory: a pipe for each direction of each pair, and a bell for each
// rank. Zero bytes are the initial state of everything.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "comm/backends/shm/layout.hpp"
#include "comm/backends/shm/shared_copy.hpp"

namespace cobre::comm::shm {

/// The two ends count bytes for ever; the place in the ring is the remainder. Its bytes follow it. A long message does
/// not go through the ring: its sender offers where it lies, both copy, and the sender counts it when it is taken.
struct MailPipe {
  // Written by the sender.
  alignas(line_bytes) std::atomic<Word> written;
  std::atomic<std::uint32_t> broken_off;  // what was begun will never be whole
  Offered offered;                        // follows what is written
  Offered part_offered;                   // of an operation of all, see part_copies.hpp
  // Written by the receiver.
  alignas(line_bytes) std::atomic<Word> read;
  Granted granted;  // and by the sender
  Granted part_granted;

  [[nodiscard]] std::byte* ring() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(MailPipe) == 2 * line_bytes);

/// Of the whole group. Every rank sleeps at its own bell, and whoever gives it something or makes room for it rings.
class MailArea {
 public:
  MailArea(std::byte* base, std::size_t ranks, std::size_t pipe_bytes) noexcept
      : base_(base), ranks_(ranks), pipe_bytes_(pipe_bytes) {}

  [[nodiscard]] static constexpr std::size_t bytes(std::size_t ranks, std::size_t pipe_bytes) noexcept {
    return ranks * sizeof(Bell) + ranks * ranks * (sizeof(MailPipe) + pipe_bytes);
  }
  [[nodiscard]] Bell& bell(std::size_t rank) const noexcept { return reinterpret_cast<Bell*>(base_)[rank]; }
  [[nodiscard]] MailPipe& pipe(std::size_t from, std::size_t to) const noexcept {
    std::byte* const first = base_ + ranks_ * sizeof(Bell);
    return *reinterpret_cast<MailPipe*>(first + (from * ranks_ + to) * (sizeof(MailPipe) + pipe_bytes_));
  }
  [[nodiscard]] std::size_t pipe_bytes() const noexcept { return pipe_bytes_; }

 private:
  std::byte* base_;
  std::size_t ranks_;
  std::size_t pipe_bytes_;
};

inline constexpr std::size_t smallest_pipe = 512;
inline constexpr std::size_t largest_pipe = std::size_t{64} << 10;

}  // namespace cobre::comm::shm
