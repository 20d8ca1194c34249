// Allreduce by recursive doubling, for short messages: pairs meet across the lowest bit of their rank first, and both
// fold what both have, lower rank on the left. That is the canonical tree where the number of ranks is a power of two.
//
// Where it is not, each block of the decomposition (subtrees.hpp) does so by itself. Then each block hands the fold of
// itself and all right of it to the block on its left, every rank of which needs it; the first block so gets the result
// and returns it to the others. The small blocks are done early, so their sending overlaps the steps of the large ones.
//
//   steps log2 n; for other n one more than the next lower power of two needs, or little more than that
//   bytes sent by a rank: the message in every step
#pragma once

#include "comm/algorithms/reduction.hpp"
#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/subtrees.hpp"
#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void allreduce_recursive_doubling(T& transport, const Reduction& reduction, std::size_t piece_bytes, Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const Subtree block = subtree_of(rank, ranks);
  const Subtree first = subtree_of(0, ranks);
  const Subtree left = left_of(block);
  const Subtree right = right_of(block, ranks);
  const std::size_t place = rank - block.first;

  reduction.for_each_piece(piece_bytes, [&](std::size_t start, std::size_t elements) {
    const std::size_t bytes = reduction.bytes(elements);
    std::byte* const other = scratch.memory(bytes);
    std::byte* const result = reduction.output(start);
    const std::byte* mine = reduction.input(start);

    for (std::size_t bit = 1; bit < block.size; bit *= 2) {
      const std::size_t partner = block.first + (place ^ bit);
      transport.exchange(partner, mine, bytes, partner, other, bytes);
      const bool lower = rank < partner;
      reduction.fold(result, lower ? mine : other, lower ? other : mine, elements);
      mine = result;
    }
    if (right.exists()) {
      transport.recv(right.first + place % right.size, other, bytes);
      reduction.fold(result, mine, other, elements);
      mine = result;
    }
    if (left.exists()) {
      for (std::size_t to = place; to < left.size; to += block.size) transport.send(left.first + to, mine, bytes);
      transport.recv(rank - first.size, result, bytes);
    } else if (rank + first.size < ranks) {
      transport.send(rank + first.size, result, bytes);
    }
  });
}

}  // namespace cobre::comm::algorithms
