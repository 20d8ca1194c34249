// Gathering through the rings: chunk by chunk, everyone shows the next piece of its data and takes everyone else's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "comm/backends/shm/endpoint.hpp"

namespace cobre::comm::shm {

/// Inside an operation whose posts all have been seen; `own` is all of this rank's ring. `bytes_of(rank)` is known to
/// all alike; `place_of(rank)` is where that rank's data goes here. Nothing is written for this rank itself.
template <class BytesOf, class PlaceOf>
void Endpoint::gather_through_rings(std::byte* own, const void* send, BytesOf bytes_of, PlaceOf place_of) {
  constexpr std::size_t depth = 4;
  const std::size_t chunk = agreement_.ring_bytes / depth;
  std::size_t longest = 0;
  for (std::size_t rank = 0; rank < size_; ++rank) longest = std::max<std::size_t>(longest, bytes_of(rank));
  const std::size_t chunks = (longest + chunk - 1) / chunk;
  const auto length_of = [&](std::size_t rank, std::size_t index) {
    const std::size_t bytes = bytes_of(rank);
    return index * chunk < bytes ? std::min(chunk, bytes - index * chunk) : 0;
  };
  const auto show = [&](std::size_t index) {
    if (index >= depth) {
      for (std::size_t step = 1; step < size_; ++step) channel_.await_drained(channel_.peer(step), index - depth + 1);
    }
    const std::size_t length = length_of(rank_, index);
    if (length == 0) return;
    std::memcpy(own + index % depth * chunk, static_cast<const std::byte*>(send) + index * chunk, length);
    channel_.publish_filled(index + 1);
  };
  const auto take = [&](std::size_t index) {
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t rank = channel_.peer(step);
      const std::size_t length = length_of(rank, index);
      if (length == 0) continue;
      channel_.await_filled(rank, index + 1);
      std::memcpy(place_of(rank) + index * chunk, ring_of(rank) + index % depth * chunk, length);
    }
    channel_.publish_drained(index + 1);
  };
  for (std::size_t index = 0; index < chunks; ++index) {
    show(index);
    if (index > 0) take(index - 1);
  }
  if (chunks > 0) take(chunks - 1);
  channel_.take_steps(chunks);
}

}  // namespace cobre::comm::shm
