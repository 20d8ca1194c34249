// Reduce-scatter for short blocks where ranks share cores: the canonical tree brings all of them to rank 0, which sends
// everyone its own. That is fewer messages than any way on which nobody has more to do than the others.
//
//   steps ceil(log2 n) + n - 1     bytes sent by a rank: all blocks once; by rank 0, all but its own
#pragma once

#include <cstring>

#include "comm/algorithms/reduction.hpp"
#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void reduce_scatter_tree(T& transport, const Reduction& reduction, Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const std::size_t elements = ranks * reduction.count();
  const std::size_t bytes = reduction.bytes(elements);
  const std::size_t block = reduction.bytes(reduction.count());
  std::byte* const other = scratch.memory(2 * bytes);
  std::byte* const folded = other + bytes;
  const std::byte* mine = reduction.input(0);
  for (std::size_t bit = 1; (rank & bit) == 0 && rank + bit < ranks; bit *= 2) {
    transport.recv(rank + bit, other, bytes);
    reduction.fold(folded, mine, other, elements);
    mine = folded;
  }
  if (rank > 0) {
    transport.send(rank & (rank - 1), mine, bytes);
    transport.recv(0, reduction.output(0), block);
    return;
  }
  for (std::size_t to = 1; to < ranks; ++to) transport.send(to, mine + to * block, block);
  std::memcpy(reduction.output(0), mine, block);
}

}  // namespace cobre::comm::algorithms
