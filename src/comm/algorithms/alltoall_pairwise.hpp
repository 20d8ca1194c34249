// Alltoall by pairwise exchange: in step k everyone sends its part to the rank k further on and receives from the one k
// before, straight from and to where the parts lie.
//
//   steps n - 1     bytes sent by a rank: all its parts but the one for itself
#pragma once

#include <cobre/comm/detail/calls.hpp>

#include <cstring>

#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void alltoall_pairwise(T& transport, const detail::AlltoallCall& call) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const std::size_t element = call.element_size;
  const auto outgoing = [&](std::size_t to) {
    return static_cast<const std::byte*>(call.send) + call.from.displ(to) * element;
  };
  const auto incoming = [&](std::size_t from) {
    return static_cast<std::byte*>(call.recv) + call.to.displ(from) * element;
  };
  if (call.to.count(rank) > 0) std::memcpy(incoming(rank), outgoing(rank), call.to.count(rank) * element);
  for (std::size_t step = 1; step < ranks; ++step) {
    const std::size_t to = (rank + step) % ranks;
    const std::size_t from = (rank + ranks - step) % ranks;
    transport.exchange(to, outgoing(to), call.from.count(to) * element, from, incoming(from),
                       call.to.count(from) * element);
  }
}

}  // namespace cobre::comm::algorithms
