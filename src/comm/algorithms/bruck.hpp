// Bruck's allgather (Bruck, Ho, Kipnis, Upfal and Weathersby, 1997), for blocks of any lengths: in step k everyone
// sends all it has to the rank 2^k before and gets as much from the one 2^k further on, which doubles what it has.
//
//   steps ceil(log2 n)     bytes sent by a rank: about all blocks but one
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

/// Fills `gathered` with the blocks of this rank, of the next, and so on round to the one before; this rank's own is
/// there already. `bytes_of(rank)` is the length of a block.
template <Transport T, class BytesOf>
void bruck(T& transport, std::byte* gathered, const BytesOf& bytes_of) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const auto bytes_from = [&](std::size_t first, std::size_t blocks) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < blocks; ++i) bytes += bytes_of((first + i) % ranks);
    return bytes;
  };
  std::size_t filled = bytes_of(rank);
  for (std::size_t have = 1; have < ranks; have *= 2) {
    const std::size_t more = std::min(have, ranks - have);
    const std::size_t from = (rank + have) % ranks;
    const std::size_t to = (rank + ranks - have) % ranks;
    const std::size_t coming = bytes_from(from, more);
    transport.exchange(to, gathered, bytes_from(rank, more), from, gathered + filled, coming);
    filled += coming;
  }
}

}  // namespace cobre::comm::algorithms
