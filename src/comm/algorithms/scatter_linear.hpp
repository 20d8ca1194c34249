// Scatter straight from the root: it sends everyone its part from where it lies.
//
//   steps n - 1 at the root, in a row     bytes sent by the root: all parts but its own
#pragma once

#include <cobre/comm/detail/calls.hpp>

#include <cstring>

#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void scatter_linear(T& transport, const detail::ScatterCall& call) {
  if (transport.rank() != call.root) return transport.recv(call.root, call.recv, call.count * call.element_size);
  const auto place_of = [&](std::size_t rank) {
    return static_cast<const std::byte*>(call.send) + call.parts.displ(rank) * call.element_size;
  };
  for (std::size_t step = 1; step < transport.size(); ++step) {
    const std::size_t rank = (call.root + step) % transport.size();
    transport.send(rank, place_of(rank), call.parts.count(rank) * call.element_size);
  }
  if (call.count > 0) std::memcpy(call.recv, place_of(call.root), call.count * call.element_size);
}

}  // namespace cobre::comm::algorithms
