// Allgatherv: everyone's data to everyone, each copied once by its reader.
//
//   bytes of the longest      algorithm       steps
//   up to inline_bytes        inline          1: the data travel in the posts
//   up to exposed_bytes       shown           1: everyone shows its data in its ring
//   above                     fetched         everyone fetches from the others' buffers, where all can be reached
//                             through rings   chunk by chunk through the rings, where not

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/backends/shm/gather_rings.hpp"
#include "comm/backends/shm/perform.hpp"
#include "comm/backends/shm/pieces.hpp"
#include "comm/backends/shm/stream.hpp"

namespace cobre::comm::shm {
namespace {

constexpr std::size_t fetched_at_once = std::size_t{512} << 10;

}  // namespace

void Endpoint::allgatherv(const detail::OperationRecord& record, const detail::AllgathervCall& call) {
  const auto bytes_of = [&](std::size_t rank) { return call.bytes_of(rank); };
  const auto place_of = [&](std::size_t rank) { return call.place_of(rank); };
  perform(record, [&] {
    const std::size_t own = bytes_of(rank_);
    const std::size_t longest = *std::ranges::max_element(call.counts) * call.element_size;

    if (longest <= inline_bytes) {
      channel_.publish(channel_.open_post(), call.send, own);
      call.copy_own(rank_);
      channel_.await_posts();
      for (std::size_t step = 1; step < size_; ++step) {
        const std::size_t rank = channel_.peer(step);
        if (bytes_of(rank) > 0) std::memcpy(place_of(rank), channel_.post_of(rank).payload.data(), bytes_of(rank));
      }
      return;
    }

    if (longest < exchanged_bytes() && longest <= ring_.bytes() / 4) {
      std::byte* const shown = room_to_show(own);
      show(shown, call.send, own, stream_symmetric_);
      post(offset_of(shown));
      call.copy_own(rank_);
      for (std::size_t step = 1; step < size_; ++step) {
        const std::size_t rank = channel_.peer(step);
        (void)channel_.await_post(rank);
        if (bytes_of(rank) == 0) continue;
        std::memcpy(place_of(rank), shown_by(rank, payload_of<Word>(rank), bytes_of(rank)), bytes_of(rank));
      }
      channel_.saw_all_posts();
      return;
    }

    const Reading reading(channel_, peers_);
    expose(call.send, call.recv, own, 0);
    const auto& all = exposures();
    const bool reached =
        std::ranges::all_of(all, [&](const Exposure& exposure) { return single_copy_ || exposure.send_region != 0; });
    if (!reached) {
      gather_through_rings(ring_.take_all(channel_), call.send, bytes_of, place_of);
      return call.copy_own(rank_);
    }
    // Where ranks share cores they would only wait for each other.
    if (longest >= too_long_for_caches && size_ <= agreement_.cpus) return fetch_together(call, all);
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t rank = channel_.peer(step);
      reach_.fetch(rank, all[rank].send_place(), 0, place_of(rank), bytes_of(rank));
    }
    channel_.publish_drained(1);
    call.copy_own(rank_);
    // The buffers belong to the others until all have fetched.
    for (std::size_t step = 1; step < size_; ++step) channel_.await_drained(channel_.peer(step), 1);
    channel_.take_steps(1);
  });
}

// Everyone copies its own data piece by piece, and the others fetch each piece when its owner has just read it: so it
// comes from memory once, and to the others from a cache.
void Endpoint::fetch_together(const detail::AllgathervCall& call, const std::vector<Exposure>& all) {
  const std::size_t longest = *std::ranges::max_element(call.counts) * call.element_size;
  const std::size_t pieces = (longest + fetched_at_once - 1) / fetched_at_once;
  const auto part_of = [&](std::size_t rank, std::size_t index) {
    const std::size_t begin = std::min(index * fetched_at_once, call.bytes_of(rank));
    return std::pair(begin, std::min(fetched_at_once, call.bytes_of(rank) - begin));
  };
  const auto copy_own = [&](std::size_t index) {
    const auto [begin, bytes] = part_of(rank_, index);
    if (bytes > 0 && !call.in_place) {
      copy_past_caches(call.place_of(rank_) + begin, static_cast<const std::byte*>(call.send) + begin, bytes);
    }
    channel_.publish_filled(index + 1);
  };
  const auto fetch = [&](std::size_t index) {
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t rank = channel_.peer(step);
      const auto [begin, bytes] = part_of(rank, index);
      if (bytes == 0) continue;
      // Not because of the data, which are there since its post, but to come when they are near.
      channel_.await_filled(rank, index + 1);
      reach_.fetch(rank, all[rank].send_place(), begin, call.place_of(rank) + begin, bytes);
    }
  };
  one_piece_behind(pieces, copy_own, fetch);
  channel_.drain_together(pieces);
}

}  // namespace cobre::comm::shm
