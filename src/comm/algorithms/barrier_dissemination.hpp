// Barrier by dissemination (Hensgen, Finkel and Manber, 1988). In step k everyone tells the rank 2^k further on and
// hears from the one 2^k before: after ceil(log2 n) steps everyone has heard, directly or not, from all.
//
//   steps ceil(log2 n)     bytes 0
#pragma once

#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void barrier_dissemination(T& transport) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  for (std::size_t distance = 1; distance < ranks; distance *= 2) {
    transport.exchange((rank + distance) % ranks, nullptr, 0, (rank + ranks - distance) % ranks, nullptr, 0);
  }
}

}  // namespace cobre::comm::algorithms
