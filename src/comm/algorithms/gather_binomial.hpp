// Gather up the binomial tree, for short blocks of equal length: everyone joins what its subtree has and hands it on.
//
//   steps ceil(log2 n)     bytes on the way to the root: every block travels up to ceil(log2 n) times
#pragma once

#include <cobre/comm/detail/calls.hpp>

#include <cstring>

#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/transport.hpp"
#include "comm/algorithms/tree.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void gather_binomial(T& transport, const detail::GatherCall& call, Scratch& scratch) {
  const BinomialTree tree(transport.rank(), call.root, transport.size());
  const std::size_t block = call.count * call.element_size;
  const std::size_t end = tree.end_of_subtree(tree.node());
  // The blocks of this node and of those below it, by node.
  std::byte* const gathered = scratch.memory(block * (end - tree.node()));
  if (block > 0) std::memcpy(gathered, call.send, block);
  tree.for_each_child([&](std::size_t child) {
    transport.recv(tree.rank_of(child), gathered + (child - tree.node()) * block,
                   (tree.end_of_subtree(child) - child) * block);
  });
  if (!tree.is_root()) return transport.send(tree.rank_of(tree.parent()), gathered, block * (end - tree.node()));
  for (std::size_t node = 0; node < end && block > 0; ++node) {
    std::memcpy(static_cast<std::byte*>(call.recv) + tree.rank_of(node) * block, gathered + node * block, block);
  }
}

}  // namespace cobre::comm::algorithms
