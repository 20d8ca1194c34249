// The buffer in the segment through which one rank shows data to the others: used from front to back and round again,
// each part free once every rank has left the operation that used it.
#pragma once

#include <array>
#include <cstddef>

#include "comm/backends/shm/channel.hpp"
#include "comm/backends/shm/layout.hpp"

namespace cobre::comm::shm {

class Ring {
 public:
  Ring(std::byte* base, std::size_t bytes) noexcept : base_(base), bytes_(bytes) {}

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// `bytes` in one piece for the operation in progress, whose post is open; waits for readers of what lay there.
  [[nodiscard]] std::byte* take(Channel& channel, std::size_t bytes) {
    const std::size_t length = (bytes + line_bytes - 1) / line_bytes * line_bytes;
    Word begin = end_;
    if (begin % bytes_ + length > bytes_) begin += bytes_ - begin % bytes_;  // what is left before the end stays unused
    while (oldest_ != newest_) {
      const Use& use = uses_[oldest_ % uses_.size()];
      if (use.sequence > channel.all_left()) {
        if (begin + length <= use.begin + bytes_) break;
        channel.await_all_left(use.sequence);
      }
      ++oldest_;
    }
    uses_[newest_++ % uses_.size()] = {begin, channel.sequence()};
    end_ = begin + length;
    return base_ + begin % bytes_;
  }
  [[nodiscard]] std::byte* take_all(Channel& channel) { return take(channel, bytes_); }

 private:
  struct Use {
    Word begin;
    Word sequence;
  };

  std::byte* base_;
  std::size_t bytes_;
  Word end_ = 0;  // counts on for ever; the place is the remainder
  // An open post is at most post_depth operations ahead of the slowest rank, so there are never more uses than that.
  std::array<Use, 2 * post_depth> uses_{};
  std::size_t oldest_ = 0;
  std::size_t newest_ = 0;
};

}  // namespace cobre::comm::shm
