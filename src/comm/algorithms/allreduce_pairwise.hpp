// Allreduce by pairwise exchange, for long messages: each rank answers for one slice of the elements. In step k
// everyone sends the rank k further on its slice; who has all the contributions to a slice folds them at once, in the
// canonical order; and the results are passed round the ring. As few bytes as there can be, at every number of ranks.
//
//   steps 2 (n - 1)     bytes sent by a rank: 2 (n - 1)/n of the message
//
// A piece goes through both halves before the next is begun: its results are sent while they are in the cache.
#pragma once

#include <cobre/comm/detail/blocks.hpp>

#include <span>

#include "comm/algorithms/reduction.hpp"
#include "comm/algorithms/ring_pass.hpp"
#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void allreduce_pairwise(T& transport, const Reduction& reduction, std::size_t piece_bytes, Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const auto sources = scratch.sources(ranks);
  const std::size_t slice_elements = std::max<std::size_t>(piece_bytes / reduction.element_size(), 1);
  reduction.for_each_piece(reduction.bytes(slice_elements) * ranks, [&](std::size_t start, std::size_t elements) {
    const detail::Block mine = detail::block_of(elements, rank, ranks);
    const std::size_t bytes = reduction.bytes(mine.count);
    std::byte* slot = scratch.memory(bytes * (ranks - 1));
    for (std::size_t step = 1; step < ranks; ++step) {
      const std::size_t to = (rank + step) % ranks;
      const std::size_t from = (rank + ranks - step) % ranks;
      const detail::Block theirs = detail::block_of(elements, to, ranks);
      transport.exchange(to, reduction.input(start + theirs.start), reduction.bytes(theirs.count), from, slot, bytes);
      sources[from] = slot;
      slot += bytes;
    }
    sources[rank] = reduction.input(start + mine.start);
    reduction.fold(reduction.output(start + mine.start), sources, mine.count);
    ring_pass(transport, [&](std::size_t r) {
      const detail::Block block = detail::block_of(elements, r, ranks);
      return std::span(reduction.output(start + block.start), reduction.bytes(block.count));
    });
  });
}

}  // namespace cobre::comm::algorithms
