// Scan by recursive doubling: as the allreduce, and what comes from a lower partner, the fold of a whole block of
// ranks, also goes on the left of what this rank has of its own result. So rank r gets block + (smaller block + …), the
// blocks being those of the decomposition (subtrees.hpp) of r + 1 ranks, or of r where the scan is exclusive: the
// canonical fold of that many.
//
// A partner that does not exist is left out. Its block is the last one then, on the left of nobody. The fold of such a
// block is nobody's business: in the step that would make it the higher partner only listens, and the lower only
// speaks.
//
//   steps ceil(log2 n)     bytes sent by a rank: the message in every step in which somebody needs it
#pragma once

#include <cobre/comm/detail/calls.hpp>

#include <cstring>

#include "comm/algorithms/reduction.hpp"
#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

/// Whether the block of ranks that meet across `bit`, and all lower ones, is on the left of anybody.
[[nodiscard]] constexpr bool has_ranks_on_its_right(std::size_t rank, std::size_t bit, std::size_t ranks) noexcept {
  const std::size_t first = rank & ~(2 * bit - 1);
  return first + 2 * bit < ranks;
}

template <Transport T>
void scan_recursive_doubling(T& transport, const Reduction& reduction, bool exclusive, std::size_t piece_bytes,
                             Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  reduction.for_each_piece(piece_bytes, [&](std::size_t start, std::size_t elements) {
    const std::size_t bytes = reduction.bytes(elements);
    std::byte* const other = scratch.memory(2 * bytes);
    std::byte* const total = other + bytes;  // of the block of ranks so far
    std::byte* const result = reduction.output(start);
    const std::byte* mine = reduction.input(start);
    bool begun = !exclusive;
    if (begun) std::memcpy(result, mine, bytes);
    for (std::size_t bit = 1; bit < ranks; bit *= 2) {
      const std::size_t partner = rank ^ bit;
      if (partner >= ranks) continue;
      const bool lower = rank < partner;
      const bool total_is_needed = has_ranks_on_its_right(rank, bit, ranks);
      if (total_is_needed) {
        transport.exchange(partner, mine, bytes, partner, other, bytes);
      } else if (lower) {
        transport.send(partner, mine, bytes);
      } else {
        transport.recv(partner, other, bytes);
      }
      if (!lower && begun) reduction.fold(result, other, result, elements);
      if (!lower && !begun) std::memcpy(result, other, bytes);
      begun = begun || !lower;
      if (total_is_needed) reduction.fold(total, lower ? mine : other, lower ? other : mine, elements);
      mine = total;
    }
  });
}

}  // namespace cobre::comm::algorithms
