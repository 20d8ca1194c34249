// Allgatherv for long messages: the blocks go round the ring, from their place in one user's buffer to their place in
// the next. Nothing is copied on the way.
#pragma once

#include <cobre/comm/detail/collectives.hpp>

#include <cstring>
#include <span>

#include "comm/algorithms/ring_pass.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void allgatherv_ring(T& transport, const detail::AllgathervCall& call, std::size_t piece_bytes) {
  const auto block_of = [&](std::size_t r) {
    return std::span(static_cast<std::byte*>(call.recv) + call.displs[r] * call.element_size,
                     call.counts[r] * call.element_size);
  };
  const auto own = block_of(transport.rank());
  if (!own.empty()) std::memcpy(own.data(), call.send, own.size());
  ring_pass(transport, block_of, piece_bytes);
}

}  // namespace cobre::comm::algorithms
