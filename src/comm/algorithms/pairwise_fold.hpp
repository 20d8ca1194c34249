// Each rank folds one slice of everyone's elements: in step k everyone sends the rank k further on the slice that is
// that rank's. Who has all the contributions to its slice folds them at once, in the canonical order.
//
//   steps n - 1     bytes sent by a rank: all slices but its own
#pragma once

#include <cobre/comm/detail/blocks.hpp>

#include "comm/algorithms/reduction.hpp"
#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

/// `slice_of(rank)` says which elements of the input that rank folds. The result goes to `into`, or where that is null
/// into scratch memory; returns where it is.
template <Transport T, class SliceOf>
std::byte* pairwise_fold(T& transport, const Reduction& reduction, const SliceOf& slice_of, std::byte* into,
                         Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const auto sources = scratch.sources(ranks);
  const detail::Block mine = slice_of(rank);
  const std::size_t bytes = reduction.bytes(mine.count);
  std::byte* slot = scratch.memory(bytes * (into != nullptr ? ranks - 1 : ranks));
  for (std::size_t step = 1; step < ranks; ++step) {
    const std::size_t to = (rank + step) % ranks;
    const std::size_t from = (rank + ranks - step) % ranks;
    const detail::Block theirs = slice_of(to);
    transport.exchange(to, reduction.input(theirs.start), reduction.bytes(theirs.count), from, slot, bytes);
    sources[from] = slot;
    slot += bytes;
  }
  sources[rank] = reduction.input(mine.start);
  std::byte* const result = into != nullptr ? into : slot;
  reduction.fold(result, sources, mine.count);
  return result;
}

}  // namespace cobre::comm::algorithms
