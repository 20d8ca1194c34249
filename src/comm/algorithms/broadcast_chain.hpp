// Broadcast along a chain, piece by piece: each rank passes a piece on while it receives the next. However many ranks
// there are, a long message takes little more than the time of sending it once.
//
//   steps pieces + n - 2     bytes on the way to the last rank: the message, and n - 2 pieces
#pragma once

#include <algorithm>
#include <span>

#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void broadcast_chain(T& transport, std::byte* data, std::size_t bytes, std::size_t root, std::size_t piece_bytes) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const std::size_t next = (rank + 1) % ranks;
  const std::size_t previous = (rank + ranks - 1) % ranks;
  const bool first = rank == root;
  const bool last = next == root;
  const std::size_t pieces = std::max<std::size_t>((bytes + piece_bytes - 1) / piece_bytes, 1);
  const auto piece = [&](std::size_t index) {
    const std::size_t start = index * piece_bytes;
    return std::span(data + start, std::min(piece_bytes, bytes - start));
  };
  // Time `index`: piece `index` comes in, the one before goes out. The first rank has them all from the start.
  for (std::size_t index = first ? 1 : 0; index <= pieces; ++index) {
    const bool receives = !first && index < pieces;
    const bool sends = !last && index > 0;
    if (sends && receives) {
      const auto out = piece(index - 1);
      const auto in = piece(index);
      transport.exchange(next, out.data(), out.size(), previous, in.data(), in.size());
    } else if (sends) {
      transport.send(next, piece(index - 1).data(), piece(index - 1).size());
    } else if (receives) {
      transport.recv(previous, piece(index).data(), piece(index).size());
    }
  }
}

}  // namespace cobre::comm::algorithms
