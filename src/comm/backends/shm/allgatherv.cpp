// Allgatherv: everyone's data to everyone, each copied once by its reader.
//
//   bytes of the longest      algorithm       steps
//   up to inline_bytes        inline          1: the data travel in the posts
//   up to exposed_bytes       shown           1: everyone shows its data in its ring
//   above                     fetched         everyone fetches from the others' buffers, where all can be reached
//                             through rings   chunk by chunk through the rings, where not

#include <algorithm>
#include <cstring>

#include "comm/backends/shm/gather_rings.hpp"
#include "comm/backends/shm/perform.hpp"

namespace cobre::comm::shm {

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

}  // namespace cobre::comm::shm
