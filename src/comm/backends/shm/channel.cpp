#include "comm/backends/shm/channel.hpp"

#include <bit>
#include <thread>

namespace cobre::comm::shm {

// A reader who finds any of the new words also finds the sequence cleared or newer: each store is a release, each load
// of the reader an acquire, so what it sees of the sequence afterwards is not older than what it saw of the words.
void Channel::note_record() noexcept {
  announced_ = sequence_;
  RecordLine& line = mine_.records[sequence_ % record_depth];
  const auto words = std::bit_cast<std::array<Word, std::tuple_size_v<decltype(line.record)>>>(record_);
  line.sequence.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < words.size(); ++i) line.record[i].store(words[i], std::memory_order_release);
  line.chain.store(chain_, std::memory_order_release);
  line.sequence.store(sequence_, std::memory_order_release);
  if (noted_) noted_.enter(record_);
}

// What nobody had to be told of, in a group of one, is noted all the same.
void Channel::note_left() noexcept {
  announce();
  noted_.leave(sequence_);
}

std::optional<Channel::RecordCopy> Channel::record_of(std::size_t rank, Word sequence) const noexcept {
  const RecordLine& line = block_.rank(rank).records[sequence % record_depth];
  if (line.sequence.load(std::memory_order_acquire) != sequence) return std::nullopt;
  std::array<Word, std::tuple_size_v<decltype(line.record)>> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = line.record[i].load(std::memory_order_acquire);
  const Word chain = line.chain.load(std::memory_order_acquire);
  if (line.sequence.load(std::memory_order_acquire) != sequence) return std::nullopt;
  return RecordCopy{std::bit_cast<detail::OperationRecord>(words), chain};
}

bool Channel::has_entered(std::size_t rank, Word sequence) const noexcept {
  return block_.rank(rank).records[sequence % record_depth].sequence.load(std::memory_order_acquire) >= sequence;
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
  ring(mine_.bell);
}

}  // namespace cobre::comm::shm
