// Broadcast: any root, and the root does not wait for its readers unless they read its own memory.
//
//   bytes                     algorithm       the root …
//   up to inline_bytes        inline          posts the data and goes on
//   up to exposed_bytes       shown           shows the data in its ring and goes on
//   above                     shared copy     writes its share into each reader, while that fetches the rest
//                             through ring    shows chunk after chunk to those that it cannot reach

#include <algorithm>
#include <cstring>

#include "comm/backends/shm/claim.hpp"
#include "comm/backends/shm/perform.hpp"
#include "comm/core/crash_point.hpp"

namespace cobre::comm::shm {
namespace {

constexpr std::size_t ring_depth = 4;  // chunks that the root may be ahead of its slowest reader

}  // namespace

void Endpoint::broadcast(const detail::OperationRecord& record, const detail::BroadcastCall& call) {
  perform(record, [&] {
    if (size_ == 1) return;
    const bool shown = call.bytes < agreement_.exposed_bytes && call.bytes <= ring_.bytes() / 4;
    if (call.bytes > inline_bytes && !shown) {
      const Reading reading(channel_, peers_);
      return rank_ == call.root ? broadcast_as_root(call) : broadcast_as_reader(call);
    }
    if (rank_ == call.root) {
      if (call.bytes <= inline_bytes) return channel_.publish(channel_.open_post(), call.buffer, call.bytes);
      std::byte* const room = room_to_show(call.bytes);
      show(room, call.buffer, call.bytes, stream_rooted_);
      return post(offset_of(room));
    }
    const Post& line = channel_.await_post(call.root);
    channel_.expect_next(call.root);
    if (call.bytes == 0) return;
    const std::byte* const data =
        call.bytes <= inline_bytes ? line.payload.data() : shown_by(call.root, payload_of<Word>(call.root), call.bytes);
    std::memcpy(call.buffer, data, call.bytes);
  });
}

// Which of the two ways a reader takes is decided by what it and the root said of themselves, so both know.
bool Endpoint::reader_is_reached(const Exposure& root, const Exposure& reader) const noexcept {
  return single_copy_ ||
         (regions_.in(root.live_regions, root.send_region) && regions_.in(reader.live_regions, root.send_region));
}

// Each of the ranks does the same share of the copying: the root writes one part in `size` of every reader's data.
std::size_t Endpoint::written_by_root(std::size_t bytes) const noexcept {
  return bytes / size_ / line_bytes * line_bytes;
}

void Endpoint::broadcast_as_root(const detail::BroadcastCall& call) {
  const auto* const data = static_cast<const std::byte*>(call.buffer);
  const std::size_t chunk = ring_.bytes() / ring_depth;
  const std::size_t chunks = (call.bytes + chunk - 1) / chunk;
  expose(call.buffer, nullptr, call.bytes, 0);
  const auto own = payload_of<Exposure>(rank_);

  RankSet reached;
  for (std::size_t step = 1; step < size_; ++step) {
    const std::size_t reader = channel_.peer(step);
    (void)channel_.await_post(reader);
    const auto theirs = payload_of<Exposure>(reader);
    if (!reader_is_reached(own, theirs)) continue;
    reached.set(reader);
    if (!single_copy_) continue;
    Place place = theirs.recv_place();
    if (!regions_.in(own.live_regions, place.region)) place.region = 0;
    const std::size_t written = written_by_root(call.bytes);
    HeldClaim claim(channel_, reader);
    if (claim) core::crash_point<"shm.claim_taken">();
    // Where this fails the reader is dead or on its way out; awaiting it below tells which.
    if (claim && reach_.store(reader, place, call.bytes - written, data + call.bytes - written, written)) {
      claim.written();
    }
  }
  channel_.saw_all_posts();

  if (reached.count() + 1 < size_) {
    std::byte* const room = ring_.take_all(channel_);
    for (std::size_t index = 0; index < chunks; ++index) {
      for (std::size_t step = 1; step < size_ && index >= ring_depth; ++step) {
        if (!reached.test(channel_.peer(step))) channel_.await_drained(channel_.peer(step), index - ring_depth + 1);
      }
      show(room + index % ring_depth * chunk, data + index * chunk, std::min(chunk, call.bytes - index * chunk),
           stream_rooted_);
      channel_.publish_filled(index + 1);
    }
  }
  // The buffer belongs to those who fetch from it until they have.
  for (std::size_t step = 1; step < size_; ++step) {
    if (reached.test(channel_.peer(step))) channel_.await_drained(channel_.peer(step), chunks);
  }
  channel_.take_steps(chunks);
}

void Endpoint::broadcast_as_reader(const detail::BroadcastCall& call) {
  auto* const data = static_cast<std::byte*>(call.buffer);
  const std::size_t chunk = ring_.bytes() / ring_depth;
  const std::size_t chunks = (call.bytes + chunk - 1) / chunk;
  std::optional<GrantedClaim> claim;
  if (single_copy_) claim.emplace(channel_, peers_, call.root);
  expose(nullptr, call.buffer, 0, call.bytes);
  const auto own = payload_of<Exposure>(rank_);
  (void)channel_.await_post(call.root);
  const auto root = payload_of<Exposure>(call.root);

  if (reader_is_reached(root, own)) {
    Place place = root.send_place();
    if (!regions_.in(own.live_regions & root.live_regions, place.region)) place.region = 0;
    const std::size_t fetched = call.bytes - (single_copy_ ? written_by_root(call.bytes) : 0);
    reach_.fetch(call.root, place, 0, data, fetched);
    channel_.publish_drained(chunks);
    core::crash_point<"shm.awaiting_claim">();
    if (claim) claim->await_cleared();
  } else {
    for (std::size_t index = 0; index < chunks; ++index) {
      channel_.await_filled(call.root, index + 1);
      std::memcpy(data + index * chunk, ring_of(call.root) + index % ring_depth * chunk,
                  std::min(chunk, call.bytes - index * chunk));
      channel_.publish_drained(index + 1);
    }
  }
  channel_.take_steps(chunks);
}

}  // namespace cobre::comm::shm
