// Allreduce after Rabenseifner (2004), for messages of medium length: as recursive doubling, but partners split the
// elements between them, so that each step moves half as much; then the same way back collects the results. Pairs meet
// across the lowest bit first, hence the canonical tree.
//
// Where the number of ranks is no power of two, each block of the decomposition (subtrees.hpp) does so by itself. A
// rank then holds the range of elements that its place says (halves.hpp), which is the union of the ranges of those
// ranks of a larger block whose place agrees in the low bits: to these it sends them, and the first block deals the
// results out the same way.
//
//   steps 2 log2 n; for other n about two more, and the small blocks send several messages in a row
//   bytes sent by a rank: 2 (n - 1)/n of the message; for other n at most twice the message
#pragma once

#include "comm/algorithms/halves.hpp"
#include "comm/algorithms/reduction.hpp"
#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/subtrees.hpp"
#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
class Rabenseifner {
 public:
  Rabenseifner(T& transport, const Reduction& reduction, Scratch& scratch)
      : transport_(transport),
        reduction_(reduction),
        scratch_(scratch),
        block_(subtree_of(transport.rank(), transport.size())),
        first_(subtree_of(0, transport.size())),
        place_(transport.rank() - block_.first) {}

  void reduce(const Range& all) {
    // Nothing longer ever arrives to be folded: only blocks of several ranks, whose share is a half at most, receive.
    other_ = scratch_.memory(reduction_.bytes(half_of(all, false).count));
    reduce_in_block(all);
    take_from_the_right();
    if (block_.first == 0) {
      deal_out_results(all);
    } else {
      hand_to_the_left(all);
    }
    gather_in_block(all);
  }

 private:
  void reduce_in_block(const Range& all) {
    mine_ = all;
    reduced_ = false;
    for (std::size_t bit = 1; bit < block_.size; bit *= 2) {
      const bool upper = (place_ & bit) != 0;
      const Range given = half_of(mine_, !upper);
      mine_ = half_of(mine_, upper);
      const std::size_t partner = block_.first + (place_ ^ bit);
      transport_.exchange(partner, values(given.start), reduction_.bytes(given.count), partner, other_,
                          reduction_.bytes(mine_.count));
      fold_in_other(!upper);
    }
  }

  void take_from_the_right() {
    const Subtree right = right_of(block_, transport_.size());
    if (!right.exists()) return;
    transport_.recv(right.first + place_ % right.size, other_, reduction_.bytes(mine_.count));
    fold_in_other(true);
  }

  void hand_to_the_left(const Range& all) {
    const Subtree left = left_of(block_);
    for (std::size_t place = place_; place < left.size; place += block_.size) {
      const Range part = range_of(all, place, left.size);
      transport_.send(left.first + place, values(part.start), reduction_.bytes(part.count));
    }
    for (std::size_t place = place_; place < first_.size; place += block_.size) {
      const Range part = range_of(all, place, first_.size);
      transport_.recv(place, reduction_.output(part.start), reduction_.bytes(part.count));
    }
  }

  void deal_out_results(const Range& all) {
    const std::size_t ranks = transport_.size();
    const Range part = range_of(all, place_, first_.size);
    for (Subtree to = right_of(block_, ranks); to.exists(); to = right_of(to, ranks)) {
      transport_.send(to.first + place_ % to.size, reduction_.output(part.start), reduction_.bytes(part.count));
    }
  }

  void gather_in_block(const Range& all) {
    for (std::size_t bit = block_.size / 2; bit > 0; bit /= 2) {
      const Range both = range_of(all, place_, bit);
      const bool upper = (place_ & bit) != 0;
      const Range own = half_of(both, upper);
      const Range theirs = half_of(both, !upper);
      const std::size_t partner = block_.first + (place_ ^ bit);
      transport_.exchange(partner, reduction_.output(own.start), reduction_.bytes(own.count), partner,
                          reduction_.output(theirs.start), reduction_.bytes(theirs.count));
    }
  }

  // What this rank holds of its range: its own values until something was folded into them.
  [[nodiscard]] const std::byte* values(std::size_t element) const {
    return reduced_ ? reduction_.output(element) : reduction_.input(element);
  }

  void fold_in_other(bool mine_is_left) {
    const std::byte* const own = values(mine_.start);
    reduction_.fold(reduction_.output(mine_.start), mine_is_left ? own : other_, mine_is_left ? other_ : own,
                    mine_.count);
    reduced_ = true;
  }

  T& transport_;
  const Reduction& reduction_;
  Scratch& scratch_;
  Subtree block_;
  Subtree first_;
  std::size_t place_;
  std::byte* other_ = nullptr;  // what a partner sent
  Range mine_{};                // the elements that are left to this rank
  bool reduced_ = false;
};

template <Transport T>
void allreduce_rabenseifner(T& transport, const Reduction& reduction, std::size_t piece_bytes, Scratch& scratch) {
  Rabenseifner<T> algorithm(transport, reduction, scratch);
  reduction.for_each_piece(2 * piece_bytes, [&](std::size_t start, std::size_t elements) {
    algorithm.reduce({start, elements});
  });
}

}  // namespace cobre::comm::algorithms
