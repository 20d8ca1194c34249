// Allreduce for the shortest messages at rank counts that are no power of two: Bruck's allgather of everyone's
// elements, and everyone folds them all.
//
//   steps ceil(log2 n)     bytes sent by a rank: n - 1 times the message
#pragma once

#include <cstring>

#include "comm/algorithms/bruck.hpp"
#include "comm/algorithms/reduction.hpp"
#include "comm/algorithms/scratch.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void allreduce_gather_and_fold(T& transport, const Reduction& reduction, std::size_t piece_bytes, Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const auto sources = scratch.sources(ranks);
  reduction.for_each_piece(piece_bytes, [&](std::size_t start, std::size_t elements) {
    const std::size_t bytes = reduction.bytes(elements);
    std::byte* const gathered = scratch.memory(bytes * ranks);
    std::memcpy(gathered, reduction.input(start), bytes);
    bruck(transport, gathered, [&](std::size_t) { return bytes; });
    for (std::size_t i = 0; i < ranks; ++i) sources[(rank + i) % ranks] = gathered + i * bytes;
    reduction.fold(reduction.output(start), sources, elements);
  });
}

}  // namespace cobre::comm::algorithms
