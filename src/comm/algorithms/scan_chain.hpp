// Scan along the chain of ranks, for short messages where ranks share cores: everyone hands the next rank the folds of
// the blocks (subtrees.hpp) of all ranks so far. To go on is to count in twos: a rank adds a block of its own, and
// while the one before is as large, the two become one. What a rank gets is block + (smaller block + …), as the
// canonical fold of so many ranks is.
//
// Scans that follow each other then cost each rank one message to send and one to take, and nobody waits for two
// others.
//
//   steps n - 1     bytes sent by a rank: the message once for each bit that is set in the number of ranks so far
#pragma once

#include <bit>
#include <cstring>

#include "comm/algorithms/reduction.hpp"
#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void scan_chain(T& transport, const Reduction& reduction, bool exclusive, std::size_t piece_bytes, Scratch& scratch) {
  const std::size_t rank = transport.rank();
  const auto blocks_before = static_cast<std::size_t>(std::popcount(rank));
  const auto blocks_after = static_cast<std::size_t>(std::popcount(rank + 1));
  reduction.for_each_piece(piece_bytes, [&](std::size_t start, std::size_t elements) {
    const std::size_t bytes = reduction.bytes(elements);
    std::byte* const folds = scratch.memory((blocks_before + 1) * bytes);  // the largest block first
    const auto fold_of = [&](std::size_t block) { return folds + block * bytes; };
    const auto take_result = [&](std::size_t blocks) {
      std::byte* const result = reduction.output(start);
      if (blocks == 0) return;
      std::memcpy(result, fold_of(blocks - 1), bytes);
      for (std::size_t block = blocks - 1; block-- > 0;) reduction.fold(result, fold_of(block), result, elements);
    };
    if (rank > 0) transport.recv(rank - 1, folds, blocks_before * bytes);
    std::memcpy(fold_of(blocks_before), reduction.input(start), bytes);
    if (exclusive) take_result(blocks_before);
    for (std::size_t block = blocks_before; block >= blocks_after; --block) {
      reduction.fold(fold_of(block - 1), fold_of(block - 1), fold_of(block), elements);
    }
    if (rank + 1 < transport.size()) transport.send(rank + 1, folds, blocks_after * bytes);
    if (!exclusive) take_result(blocks_after);
  });
}

}  // namespace cobre::comm::algorithms
