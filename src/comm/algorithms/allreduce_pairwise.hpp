// Allreduce by pairwise exchange, for long messages: each rank folds one slice of the elements, and the
// results are passed round the ring. As few bytes as there can be, at every number of ranks.
//
//   steps 2 (n - 1)     bytes sent by a rank: 2 (n - 1)/n of the message
//
// A piece goes through both halves before the next is begun: its results are sent while they are in the cache.
#pragma once

#include <cobre/comm/detail/blocks.hpp>

#include <span>

#include "comm/algorithms/pairwise_fold.hpp"
#include "comm/algorithms/ring_pass.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void allreduce_pairwise(T& transport, const Reduction& reduction, std::size_t piece_bytes, Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t slice_elements = std::max<std::size_t>(piece_bytes / reduction.element_size(), 1);
  reduction.for_each_piece(reduction.bytes(slice_elements) * ranks, [&](std::size_t start, std::size_t elements) {
    const auto slice_of = [&](std::size_t r) {
      const detail::Block block = detail::block_of(elements, r, ranks);
      return detail::Block{start + block.start, block.count};
    };
    pairwise_fold(transport, reduction, slice_of, reduction.output(slice_of(transport.rank()).start), scratch);
    ring_pass(transport, [&](std::size_t r) {
      const detail::Block slice = slice_of(r);
      return std::span(reduction.output(slice.start), reduction.bytes(slice.count));
    });
  });
}

}  // namespace cobre::comm::algorithms
