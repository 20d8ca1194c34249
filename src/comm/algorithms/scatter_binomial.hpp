// Scatter down the binomial tree, for short blocks of equal length: everyone hands each child the blocks of its
// subtree.
//
//   steps ceil(log2 n)     bytes on the way from the root: every block travels up to ceil(log2 n) times
#pragma once

#include <cobre/comm/detail/calls.hpp>

#include <cstring>

#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/transport.hpp"
#include "comm/algorithms/tree.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void scatter_binomial(T& transport, const detail::ScatterCall& call, Scratch& scratch) {
  const BinomialTree tree(transport.rank(), call.root, transport.size());
  const std::size_t block = call.count * call.element_size;
  const std::size_t end = tree.end_of_subtree(tree.node());
  // The blocks of this node and of those below it, by node.
  std::byte* const blocks = scratch.memory(block * (end - tree.node()));
  if (!tree.is_root()) {
    transport.recv(tree.rank_of(tree.parent()), blocks, block * (end - tree.node()));
  } else {
    for (std::size_t node = 0; node < end && block > 0; ++node) {
      std::memcpy(blocks + node * block, static_cast<const std::byte*>(call.send) + tree.rank_of(node) * block, block);
    }
  }
  tree.for_each_child([&](std::size_t child) {
    transport.send(tree.rank_of(child), blocks + (child - tree.node()) * block,
                   (tree.end_of_subtree(child) - child) * block);
  });
  if (block > 0) std::memcpy(call.recv, blocks, block);
}

}  // namespace cobre::comm::algorithms
