// Broadcast in two halves (van de Geijn): the message is dealt out down the binomial tree, one block a rank, and the
// blocks are then passed round the ring. No rank sends much more than the message once.
//
//   steps ceil(log2 n) + n - 1     bytes on the way to the last rank: about twice (n - 1)/n of the message
#pragma once

#include <cobre/comm/detail/blocks.hpp>

#include <span>

#include "comm/algorithms/ring_pass.hpp"
#include "comm/algorithms/transport.hpp"
#include "comm/algorithms/tree.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void broadcast_scatter_allgather(T& transport, std::byte* data, std::size_t bytes, std::size_t root) {
  const std::size_t ranks = transport.size();
  const BinomialTree tree(transport.rank(), root, ranks);
  // The blocks of the nodes from `first` on, up to but not including `end`.
  const auto blocks = [&](std::size_t first, std::size_t end) {
    const std::size_t start = detail::block_of(bytes, first, ranks).start;
    return std::span(data + start, detail::block_of(bytes, end - 1, ranks).start +
                                       detail::block_of(bytes, end - 1, ranks).count - start);
  };
  if (!tree.is_root()) {
    const auto part = blocks(tree.node(), tree.end_of_subtree(tree.node()));
    transport.recv(tree.rank_of(tree.parent()), part.data(), part.size());
  }
  tree.for_each_child([&](std::size_t child) {
    const auto part = blocks(child, tree.end_of_subtree(child));
    transport.send(tree.rank_of(child), part.data(), part.size());
  });
  ring_pass(transport, [&](std::size_t rank) {
    const std::size_t node = (rank + ranks - root) % ranks;
    return blocks(node, node + 1);
  });
}

}  // namespace cobre::comm::algorithms
