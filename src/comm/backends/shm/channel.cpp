#include "comm/backends/shm/channel.hpp"

#include <bit>
#include <thread>

namespace cobre::comm::shm {

void Channel::note_record() noexcept {
  announced_ = sequence_;
  mine_.records[sequence_ % record_depth].write(sequence_,
                                                std::bit_cast<RecordLine::Words>(RecordCopy{record_, chain_}));
  if (noted_) noted_.enter(record_);
}

void Channel::note_beside() noexcept {
  // Who makes a lane of a duplicate runs nothing for what that is a duplicate of.
  const bool makes_lane = record_.operation == detail::Operation::Duplicate;
  if (core::is_beside_caller() && !makes_lane) base_->rank(rank_).aside.begin(record_);
}

// What nobody had to be told of, in a group of one, is noted all the same.
void Channel::note_left() noexcept {
  announce();
  noted_.leave(sequence_);
}

std::optional<RecordCopy> Channel::record_of(std::size_t rank, Word sequence) const noexcept {
  return block_.rank(rank).records[sequence % record_depth].copy(sequence);
}

bool Channel::has_entered(std::size_t rank, Word sequence) const noexcept {
  return block_.rank(rank).records[sequence % record_depth].number.load(std::memory_order_acquire) >= sequence;
}

void Channel::await_all_left(Word sequence) {
  if (all_left_ >= sequence) return;
  announce();
  Word reached = sequence_ - 1;
  for (std::size_t step = 1; step < size_; ++step) {
    const std::size_t rank = peer(step);
    const Finished& finished = block_.rank(rank).finished;
    wait(finished.sequence, sequence, rank);
    const Word left = finished.sequence.load(std::memory_order_acquire);
    const Word chain = finished.chain[left % 2].load(std::memory_order_acquire);
    // A root never sees what its readers believed they were in; here it does, where the two words belong together.
    const bool comparable = left <= sequence_ && left + record_depth > sequence_ &&
                            finished.sequence.load(std::memory_order_acquire) == left;
    if (comparable && chain != chains_[left % record_depth]) disagree();
    if (left < reached) reached = left;
  }
  all_left_ = reached;
}

void Channel::depart() noexcept {
  mine_.presence.store(static_cast<std::uint32_t>(Presence::Left), std::memory_order_release);
  // Whoever waits for this rank learns at once that it waits in vain.
  mine_.bell.wake_all();
}

}  // namespace cobre::comm::shm
