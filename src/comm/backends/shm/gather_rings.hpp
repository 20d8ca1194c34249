// Gathering through the rings: chunk by chunk, everyone shows the next piece of its data and takes everyone else's.
// That is also how elements come to their fold that are too large for any buffer of ours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "comm/backends/shm/endpoint.hpp"
#include "comm/backends/shm/pieces.hpp"

namespace cobre::comm::shm {

/// Inside an operation whose posts all have been seen; `own` is all of this rank's ring. `bytes_of(rank)` is known to
/// all alike; `place_of(rank)` is where that rank's data goes here. Nothing is written for this rank itself.
template <class BytesOf, class PlaceOf>
void Endpoint::gather_through_rings(std::byte* own, const void* send, BytesOf bytes_of, PlaceOf place_of) {
  constexpr std::size_t depth = 4;
  const std::size_t chunk = ring_.bytes() / depth;
  std::size_t longest = 0;
  for (std::size_t rank = 0; rank < size_; ++rank) longest = std::max<std::size_t>(longest, bytes_of(rank));
  const std::size_t chunks = (longest + chunk - 1) / chunk;
  const auto length_of = [&](std::size_t rank, std::size_t index) {
    const std::size_t bytes = bytes_of(rank);
    return index * chunk < bytes ? std::min(chunk, bytes - index * chunk) : 0;
  };
  const auto show_chunk = [&](std::size_t index) {
    if (index >= depth) {
      for (std::size_t step = 1; step < size_; ++step) channel_.await_drained(channel_.peer(step), index - depth + 1);
    }
    const std::size_t length = length_of(rank_, index);
    if (length == 0) return;
    show(own + index % depth * chunk, static_cast<const std::byte*>(send) + index * chunk, length, stream_symmetric_);
    channel_.publish_filled(index + 1);
  };
  const auto take_chunk = [&](std::size_t index) {
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t rank = channel_.peer(step);
      const std::size_t length = length_of(rank, index);
      if (length == 0) continue;
      channel_.await_filled(rank, index + 1);
      std::memcpy(place_of(rank) + index * chunk, ring_of(rank) + index % depth * chunk, length);
    }
    channel_.publish_drained(index + 1);
  };
  one_piece_behind(chunks, show_chunk, take_chunk);
  channel_.take_steps(chunks);
}

/// One element after the other, from everyone to everyone: `fold(index)` finds those of the others in sources_.
template <class FoldOne>
void Endpoint::gather_huge_elements(const detail::AllreduceCall& call, std::size_t count, FoldOne fold_one) {
  constexpr auto alignment = std::align_val_t{line_bytes};
  const std::size_t element = call.element_size;
  const std::size_t stride = (element + line_bytes - 1) / line_bytes * line_bytes;
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };
  const std::unique_ptr<std::byte, Free> values(static_cast<std::byte*>(::operator new(stride* size_, alignment)));
  channel_.publish(channel_.open_post());
  channel_.await_posts();
  std::byte* const own = ring_.take_all(channel_);
  for (std::size_t index = 0; index < count; ++index) {
    gather_through_rings(
        own, static_cast<const std::byte*>(call.send) + index * element, [&](std::size_t) { return element; },
        [&](std::size_t rank) { return values.get() + rank * stride; });
    // The next element goes through the same rings: all must have taken this one.
    for (std::size_t step = 1; step < size_; ++step) channel_.await_drained(channel_.peer(step), 0);
    for (std::size_t rank = 0; rank < size_; ++rank) sources_[rank] = values.get() + rank * stride;
    fold_one(index);
  }
}

}  // namespace cobre::comm::shm
