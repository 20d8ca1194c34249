// Broadcast down the binomial tree: everyone who has the message passes it on, so that the number of those who have it
// doubles with every step.
//
//   steps ceil(log2 n)     bytes on the way to the last rank: ceil(log2 n) times the message
#pragma once

#include "comm/algorithms/transport.hpp"
#include "comm/algorithms/tree.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void broadcast_binomial(T& transport, std::byte* data, std::size_t bytes, std::size_t root) {
  const BinomialTree tree(transport.rank(), root, transport.size());
  if (!tree.is_root()) transport.recv(tree.rank_of(tree.parent()), data, bytes);
  tree.for_each_child([&](std::size_t child) { transport.send(tree.rank_of(child), data, bytes); });
}

}  // namespace cobre::comm::algorithms
