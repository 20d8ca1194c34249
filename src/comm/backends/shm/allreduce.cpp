// Allreduce. Every element is folded from all ranks' values at once, along the canonical tree, whatever the algorithm:
// so all of them give the same bits.
//
//   bytes                     algorithm       steps
//   up to inline_bytes        inline          1: the values travel in the posts, everyone folds all
//   up to one_shot_bytes      one-shot        1: everyone shows its values in its ring, everyone folds all
//   below exchanged_bytes     two-shot        2: everyone folds its slice, shows the result, takes the others' slices
//   above                     in place        two-shot straight from the buffers, piece by piece, where pointers reach
//                             through rings   two-shot through the rings, block by block, where not

#include <algorithm>
#include <cstring>

#include "comm/backends/shm/gather_rings.hpp"
#include "comm/backends/shm/perform.hpp"
#include "comm/backends/shm/pieces.hpp"
#include "comm/backends/shm/scratch.hpp"
#include "comm/backends/shm/slices.hpp"
#include "comm/backends/shm/stream.hpp"

namespace cobre::comm::shm {
namespace {

constexpr std::size_t kept_in_caches = std::size_t{1} << 20;

const std::byte* bytes_of(const void* buffer, std::size_t element, std::size_t element_size) {
  return static_cast<const std::byte*>(buffer) + element * element_size;
}
std::byte* bytes_of(void* buffer, std::size_t element, std::size_t element_size) {
  return static_cast<std::byte*>(buffer) + element * element_size;
}

// Room for the longest slice, so that all slices lie at the same places on all ranks.
std::size_t cell_of(const Slices& slices, std::size_t element_size) {
  return (slices.longest() * element_size + line_bytes - 1) / line_bytes * line_bytes;
}

}  // namespace

void Endpoint::allreduce(const detail::OperationRecord& record, const detail::AllreduceCall& call) {
  perform_reduction(record, [&] {
    const std::size_t bytes = call.count * call.element_size;
    if (bytes <= inline_bytes) return reduce_inline(call);
    if (bytes <= agreement_.one_shot_bytes) return reduce_one_shot(call);
    if (call.element_size > std::min<std::size_t>(agreement_.piece_bytes, share_of_block())) {
      return gather_huge_elements(call, call.count, [&](std::size_t index) {
        sources_[rank_] = bytes_of(call.send, index, call.element_size);
        fold(call, bytes_of(call.recv, index, call.element_size), 1, size_);
      });
    }
    // Twice, so that the next operation finds room before this one's is free again.
    const bool fits = 2 * (size_ + 1) * cell_of(Slices(call.count, size_), call.element_size) <= ring_.bytes();
    if (bytes < agreement_.exchanged_bytes && fits) return reduce_two_shot(call);
    const Reading reading(channel_, peers_);
    expose(call.send, call.recv, bytes, bytes);
    const auto& all = exposures();
    const bool reached = reduces_from_origin() || std::ranges::all_of(all, [&](const Exposure& exposure) {
                           return exposure.send_region != 0 && exposure.recv_region != 0;
                         });
    return reached ? reduce_in_place_of_origin(call, all) : reduce_through_rings(call);
  });
}

void Endpoint::reduce_inline(const detail::AllreduceCall& call) {
  channel_.publish(channel_.open_post(), call.send, call.count * call.element_size);
  channel_.await_posts();
  for (std::size_t rank = 0; rank < size_; ++rank) sources_[rank] = channel_.post_of(rank).payload.data();
  sources_[rank_] = call.send;
  fold(call, call.recv, call.count, size_);
}

void Endpoint::reduce_one_shot(const detail::AllreduceCall& call) {
  const std::size_t bytes = call.count * call.element_size;
  std::byte* const shown = room_to_show(bytes);
  show(shown, call.send, bytes, stream_symmetric_);
  post(offset_of(shown));
  channel_.await_posts();
  for (std::size_t rank = 0; rank < size_; ++rank) sources_[rank] = shown_by(rank, payload_of<Word>(rank), bytes);
  sources_[rank_] = call.send;
  fold(call, call.recv, call.count, size_);
}

void Endpoint::reduce_two_shot(const detail::AllreduceCall& call) {
  const Slices slices(call.count, size_);
  const std::size_t element = call.element_size;
  const std::size_t cell = cell_of(slices, element);
  const std::size_t room = (size_ + 1) * cell;  // a slice for each rank, and the result of this one's
  const auto slice_of = [&](auto* buffer, std::size_t rank) { return bytes_of(buffer, slices.begin(rank), element); };

  std::byte* const shown = room_to_show(room);
  for (std::size_t step = 1; step < size_; ++step) {
    const std::size_t rank = channel_.peer(step);
    show(shown + rank * cell, slice_of(call.send, rank), slices.length(rank) * element, stream_symmetric_);
  }
  post(offset_of(shown));
  channel_.await_posts();

  for (std::size_t rank = 0; rank < size_; ++rank) {
    sources_[rank] = shown_by(rank, payload_of<Word>(rank), room) + rank_ * cell;
  }
  sources_[rank_] = slice_of(call.send, rank_);
  fold(call, slice_of(call.recv, rank_), slices.length(rank_), size_);
  show(shown + size_ * cell, slice_of(call.recv, rank_), slices.length(rank_) * element, stream_symmetric_);
  channel_.publish_filled(1);
  for (std::size_t step = 1; step < size_; ++step) {
    const std::size_t rank = channel_.peer(step);
    channel_.await_filled(rank, 1);
    const std::byte* const result = shown_by(rank, payload_of<Word>(rank), room) + size_ * cell;
    std::memcpy(slice_of(call.recv, rank), result, slices.length(rank) * element);
  }
  channel_.take_steps(1);
}

// Each rank folds its slice straight into its own recv; the others fetch it from there. In place it works too: a rank's
// slice of send is read by nobody else, and the other slices of recv are written only after their owner has read them.
void Endpoint::reduce_in_place_of_origin(const detail::AllreduceCall& call, const std::vector<Exposure>& all) {
  const Slices slices(call.count, size_);
  const std::size_t element = call.element_size;
  const std::size_t piece = std::max<std::size_t>(1, agreement_.piece_bytes / element);
  const std::size_t pieces = (slices.longest() + piece - 1) / piece;
  const auto length_of = [&](std::size_t rank, std::size_t index) {
    const std::size_t length = slices.length(rank);
    return index * piece < length ? std::min(piece, length - index * piece) : 0;
  };
  const auto fold_piece = [&](std::size_t index) {
    const std::size_t begin = slices.begin(rank_) + index * piece;
    const std::size_t count = length_of(rank_, index);
    if (count > 0) {
      for (std::size_t step = 1; step < size_; ++step) {
        const std::size_t rank = channel_.peer(step);
        sources_[rank] =
            reach_.view(rank, all[rank].send_place(), begin * element, count * element, (*scratch_)[step - 1]);
      }
      sources_[rank_] = bytes_of(call.send, begin, element);
      fold(call, bytes_of(call.recv, begin, element), count, size_);
    }
    channel_.publish_filled(index + 1);
  };
  const auto fetch_piece = [&](std::size_t index) {
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t rank = channel_.peer(step);
      const std::size_t count = length_of(rank, index);
      if (count == 0) continue;
      channel_.await_filled(rank, index + 1);
      const std::size_t begin = slices.begin(rank) + index * piece;
      std::byte* const into = bytes_of(call.recv, begin, element);
      const std::byte* const result = reach_.view(rank, all[rank].recv_place(), begin * element, count * element, into);
      // Long results would not stay in a cache until they are used.
      if (result != into) show(into, result, count * element, call.count * element >= kept_in_caches);
    }
  };
  one_piece_behind(pieces, fold_piece, fetch_piece);
  channel_.drain_together(pieces);
}

// Block by block: everyone shows its values of block b + 1, folds its slice of block b, shows that, and takes the other
// slices of block b. Each of the two kinds of buffers exists twice.
//   Values of b + 1 replace those of b - 1: all ranks have folded b - 1, for they have shown its results, which were
//   taken. Results of b replace those of b - 2: all ranks have taken those, for they have shown their values of b,
//   which were awaited, and a rank does that after taking the results of b - 2.
void Endpoint::reduce_through_rings(const detail::AllreduceCall& call) {
  const std::size_t element = call.element_size;
  const std::size_t share_bytes = share_of_block();
  const std::size_t share = share_bytes / element;  // elements of one rank in one block
  const std::size_t block = share * size_;
  const std::size_t blocks = (call.count + block - 1) / block;
  const auto slices_of = [&](std::size_t b) { return Slices(std::min(block, call.count - b * block), size_); };
  const auto values_at = [&](std::byte* ring, std::size_t b, std::size_t slice) {
    return ring + (b % 2 * size_ + slice) * share_bytes;
  };
  const auto result_at = [&](std::byte* ring, std::size_t b) { return ring + (2 * size_ + b % 2) * share_bytes; };
  const auto values_shown = [](std::size_t b) { return b == 0 ? Word{1} : Word{2 * b}; };
  const auto result_shown = [](std::size_t b) { return Word{2 * b + 3}; };
  // Ordinary stores fetch every line of a recv that no cache holds before they replace it. A slice is then folded where
  // the others read it, and goes to recv past the caches, as theirs do.
  const bool too_long = call.count * element >= too_long_for_caches;

  std::byte* const own = ring_.take_all(channel_);
  const auto show_values = [&](std::size_t b) {
    const Slices slices = slices_of(b);
    for (std::size_t rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      show(values_at(own, b, rank), bytes_of(call.send, b * block + slices.begin(rank), element),
           slices.length(rank) * element, stream_symmetric_);
    }
    channel_.publish_filled(values_shown(b));
  };

  show_values(0);
  for (std::size_t b = 0; b < blocks; ++b) {
    if (b + 1 < blocks) show_values(b + 1);
    const Slices slices = slices_of(b);
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t rank = channel_.peer(step);
      channel_.await_filled(rank, values_shown(b));
      sources_[rank] = values_at(ring_of(rank), b, rank_);
    }
    const std::size_t begin = b * block + slices.begin(rank_);
    const std::size_t count = slices.length(rank_);
    sources_[rank_] = bytes_of(call.send, begin, element);
    std::byte* const kept = bytes_of(call.recv, begin, element);
    std::byte* const shown = result_at(own, b);
    fold(call, too_long ? shown : kept, count, size_);
    if (!too_long) show(shown, kept, count * element, stream_symmetric_);
    channel_.publish_filled(result_shown(b));
    if (too_long) copy_past_caches(kept, shown, count * element);
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t rank = channel_.peer(step);
      channel_.await_filled(rank, result_shown(b));
      if (slices.length(rank) == 0) continue;
      show(bytes_of(call.recv, b * block + slices.begin(rank), element), result_at(ring_of(rank), b),
           slices.length(rank) * element, too_long);
    }
  }
  channel_.take_steps(2 * blocks + 1);
}

}  // namespace cobre::comm::shm
