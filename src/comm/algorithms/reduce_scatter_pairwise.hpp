// Reduce-scatter by pairwise exchange: every rank's slice is the block that it wants.
//
//   steps n - 1     bytes sent by a rank: all blocks but its own
#pragma once

#include "comm/algorithms/pairwise_fold.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void reduce_scatter_pairwise(T& transport, const Reduction& reduction, std::size_t piece_bytes, Scratch& scratch) {
  reduction.for_each_piece(piece_bytes, [&](std::size_t start, std::size_t elements) {
    pairwise_fold(
        transport, reduction,
        [&](std::size_t rank) {
          return detail::Block{rank * reduction.count() + start, elements};
        },
        reduction.output(start), scratch);
  });
}

}  // namespace cobre::comm::algorithms
