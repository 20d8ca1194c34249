// Gather straight to the root: everyone sends it its part, which goes to its place. Nothing is copied on the way, and
// nobody but the two ends needs to know how long a part is.
//
//   steps n - 1 at the root, in a row     bytes received by the root: all parts but its own
#pragma once

#include <cobre/comm/detail/calls.hpp>

#include <cstring>

#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void gather_linear(T& transport, const detail::GatherCall& call) {
  if (transport.rank() != call.root) return transport.send(call.root, call.send, call.count * call.element_size);
  const auto place_of = [&](std::size_t rank) {
    return static_cast<std::byte*>(call.recv) + call.parts.displ(rank) * call.element_size;
  };
  if (call.count > 0) std::memcpy(place_of(call.root), call.send, call.count * call.element_size);
  for (std::size_t step = 1; step < transport.size(); ++step) {
    const std::size_t rank = (call.root + step) % transport.size();
    transport.recv(rank, place_of(rank), call.parts.count(rank) * call.element_size);
  }
}

}  // namespace cobre::comm::algorithms
