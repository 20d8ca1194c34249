// Reduce by pairwise exchange, for long messages: each rank folds one slice of the elements, from everyone at once in
// the canonical order, and hands it to the root.
//
//   steps n - 1, and n - 1 more at the root     bytes sent by a rank: the message once
#pragma once

#include <cobre/comm/detail/blocks.hpp>

#include "comm/algorithms/pairwise_fold.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void reduce_pairwise(T& transport, const Reduction& reduction, std::size_t root, std::size_t piece_bytes,
                     Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const std::size_t slice_elements = std::max<std::size_t>(piece_bytes / reduction.element_size(), 1);
  reduction.for_each_piece(reduction.bytes(slice_elements) * ranks, [&](std::size_t start, std::size_t elements) {
    const auto slice_of = [&](std::size_t r) {
      const detail::Block block = detail::block_of(elements, r, ranks);
      return detail::Block{start + block.start, block.count};
    };
    const detail::Block mine = slice_of(rank);
    std::byte* const folded =
        pairwise_fold(transport, reduction, slice_of, rank == root ? reduction.output(mine.start) : nullptr, scratch);
    if (rank != root) return transport.send(root, folded, reduction.bytes(mine.count));
    for (std::size_t step = 1; step < ranks; ++step) {
      const std::size_t from = (root + step) % ranks;
      const detail::Block slice = slice_of(from);
      transport.recv(from, reduction.output(slice.start), reduction.bytes(slice.count));
    }
  });
}

}  // namespace cobre::comm::algorithms
