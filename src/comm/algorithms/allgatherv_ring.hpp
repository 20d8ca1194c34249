// Allgatherv for long messages: the blocks go round the ring, from their place in one user's buffer to their place in
// the next. Nothing is copied on the way.
#pragma once

#include <cobre/comm/detail/collectives.hpp>

#include <span>

#include "comm/algorithms/ring_pass.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void allgatherv_ring(T& transport, const detail::AllgathervCall& call, std::size_t piece_bytes) {
  call.copy_own(transport.rank());
  ring_pass(
      transport, [&](std::size_t r) { return std::span(call.place_of(r), call.bytes_of(r)); }, piece_bytes);
}

}  // namespace cobre::comm::algorithms
