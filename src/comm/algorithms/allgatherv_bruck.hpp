// Allgatherv for short messages: Bruck's allgather through scratch memory, and then each block to its place.
#pragma once

#include <cobre/comm/detail/collectives.hpp>

#include <cstring>

#include "comm/algorithms/bruck.hpp"
#include "comm/algorithms/scratch.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void allgatherv_bruck(T& transport, const detail::AllgathervCall& call, Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const auto bytes_of = [&](std::size_t r) { return call.bytes_of(r); };
  std::size_t total = 0;
  for (std::size_t r = 0; r < ranks; ++r) total += bytes_of(r);
  std::byte* const gathered = scratch.memory(total);
  if (bytes_of(rank) > 0) std::memcpy(gathered, call.send, bytes_of(rank));
  bruck(transport, gathered, bytes_of);
  const std::byte* block = gathered;
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::size_t r = (rank + i) % ranks;
    if (bytes_of(r) == 0) continue;
    std::memcpy(call.place_of(r), block, bytes_of(r));
    block += bytes_of(r);
  }
}

}  // namespace cobre::comm::algorithms
