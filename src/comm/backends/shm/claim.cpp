#include "comm/backends/shm/claim.hpp"

#include <chrono>
#include <thread>

namespace cobre::comm::shm {

GrantedClaim::GrantedClaim(Channel& channel, const Peers& peers, std::size_t writer) noexcept
    : channel_(channel),
      peers_(peers),
      writer_(writer),
      sequence_(channel.sequence()),
      word_(channel.block_of(channel.rank()).claim.value) {
  // Relaxed: the post that follows carries the address and releases this store with it.
  word_.store(claim::granted(sequence_), std::memory_order_relaxed);
}

GrantedClaim::~GrantedClaim() {
  if (over_) return;
  Word expected = claim::granted(sequence_);
  // Acquire where it fails: what the writer wrote under a claim is in the buffer before its owner goes on.
  if (word_.compare_exchange_strong(expected, claim::revoked(sequence_), std::memory_order_acq_rel)) return;
  // Held: no deadline applies here, because leaving would hand the memory to somebody else under the writer's pen.
  while (word_.load(std::memory_order_acquire) == claim::held(sequence_) && peers_.alive(writer_)) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void GrantedClaim::await_cleared() {
  channel_.wait(word_, claim::cleared(sequence_), writer_);
  over_ = true;
  // Relaxed: the wait has acquired what the word stands for, and nobody writes it again in this operation.
  if (word_.load(std::memory_order_relaxed) != claim::cleared(sequence_)) channel_.throw_unreachable(writer_, 0);
}

HeldClaim::HeldClaim(Channel& channel, std::size_t target) noexcept
    : channel_(channel), word_(channel.block_of(target).claim.value) {
  Word expected = claim::granted(channel.sequence());
  held_ = word_.compare_exchange_strong(expected, claim::held(channel.sequence()), std::memory_order_acq_rel);
}

HeldClaim::~HeldClaim() {
  if (!held_) return;
  channel_.publish(word_, written_ ? claim::cleared(channel_.sequence()) : claim::abandoned(channel_.sequence()));
}

}  // namespace cobre::comm::shm
