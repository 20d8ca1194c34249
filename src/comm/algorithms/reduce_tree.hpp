// Reduce along the canonical tree itself: rank i hands its fold to i & (i - 1), which takes those of its children from
// the lowest bit up. What rank 0 so gets goes to the root.
//
//   steps ceil(log2 n), and one more where rank 0 is not the root     bytes received by rank 0: log2 n times the
//   message
#pragma once

#include <cstring>

#include "comm/algorithms/reduction.hpp"
#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void reduce_tree(T& transport, const Reduction& reduction, std::size_t root, std::size_t piece_bytes,
                 Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  reduction.for_each_piece(piece_bytes, [&](std::size_t start, std::size_t elements) {
    const std::size_t bytes = reduction.bytes(elements);
    std::byte* const other = scratch.memory(2 * bytes);
    std::byte* const folded = rank == root ? reduction.output(start) : other + bytes;
    const std::byte* mine = reduction.input(start);
    for (std::size_t bit = 1; (rank & bit) == 0 && rank + bit < ranks; bit *= 2) {
      transport.recv(rank + bit, other, bytes);
      reduction.fold(folded, mine, other, elements);
      mine = folded;
    }
    if (rank > 0) transport.send(rank & (rank - 1), mine, bytes);
    if (root == 0) return;
    if (rank == 0) transport.send(root, mine, bytes);
    if (rank == root) transport.recv(0, reduction.output(start), bytes);
  });
}

}  // namespace cobre::comm::algorithms
