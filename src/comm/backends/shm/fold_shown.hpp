// Folding what others show: the reductions whose result not every rank gets, or each rank another one.
#pragma once

#include <algorithm>

#include "comm/backends/shm/gather_rings.hpp"
#include "comm/backends/shm/perform.hpp"
#include "comm/backends/shm/pieces.hpp"
#include "comm/backends/shm/scratch.hpp"

namespace cobre::comm::shm {

/// What a rank wants: the fold of the first `sources` ranks, of `count` of the elements that they show, from `first`
/// on. No sources: nothing.
struct Wish {
  std::size_t sources;
  std::size_t first;
  std::size_t count;
};

/// `wish_of(rank)` is known to all alike; everyone shows the first `shown` elements of its send buffer.
template <class WishOf>
class Endpoint::Folder {
 public:
  Folder(Endpoint& endpoint, const detail::AllreduceCall& call, std::size_t shown, const WishOf& wish_of)
      : endpoint_(endpoint),
        call_(call),
        channel_(endpoint.channel_),
        rank_(endpoint.rank_),
        size_(endpoint.size_),
        element_(call.element_size),
        shown_(shown),
        wish_of_(wish_of),
        own_(wish_of(endpoint.rank_)),
        chunk_(endpoint.ring_.bytes() / depth / line_bytes * line_bytes) {}

  void run() {
    const std::size_t total = shown_ * element_;
    if (total <= inline_bytes) return fold_inline(total);
    if (total < endpoint_.agreement_.exchanged_bytes && total <= endpoint_.ring_.bytes() / 4)
      return fold_from_rings(total);
    if (element_ > std::min<std::size_t>(endpoint_.agreement_.piece_bytes, chunk_)) return fold_huge_elements();
    return endpoint_.reduces_from_origin() ? fold_from_origin() : fold_by_chunks();
  }

 private:
  static constexpr std::size_t depth = 4;  // chunks in a ring

  [[nodiscard]] const std::byte* sent(std::size_t element) const noexcept {
    return static_cast<const std::byte*>(call_.send) + element * element_;
  }
  [[nodiscard]] std::byte* result(std::size_t element) const noexcept {
    return static_cast<std::byte*>(call_.recv) + element * element_;
  }
  [[nodiscard]] bool wants(std::size_t reader, std::size_t source) const noexcept {
    return reader != source && source < wish_of_(reader).sources;
  }
  /// Whether anybody reads what this rank shows.
  [[nodiscard]] bool is_wanted() const noexcept {
    for (std::size_t reader = 0; reader < size_; ++reader) {
      if (wants(reader, rank_)) return true;
    }
    return false;
  }
  template <class Visit>
  void for_each_source(Visit&& visit) {
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t rank = channel_.peer(step);
      if (wants(rank_, rank)) visit(rank);
    }
  }
  void await_readers(Word step) {
    for (std::size_t ahead = 1; ahead < size_; ++ahead) {
      const std::size_t reader = channel_.peer(ahead);
      if (wants(reader, rank_)) channel_.await_drained(reader, step);
    }
  }
  void await_sources() {
    for_each_source([&](std::size_t rank) { (void)channel_.await_post(rank); });
    if (own_.sources == size_) channel_.saw_all_posts();
  }

  /// `count` elements from `first` of what is shown on; where the others' are, is in sources_ already.
  void fold(std::size_t first, std::size_t count) {
    if (own_.sources > rank_) endpoint_.sources_[rank_] = sent(first);
    endpoint_.fold(call_, result(first - own_.first), count, own_.sources);
  }

  void fold_inline(std::size_t total) {
    channel_.publish(channel_.open_post(), call_.send, total);
    await_sources();
    if (own_.sources == 0 || own_.count == 0) return;
    for_each_source([&](std::size_t rank) {
      endpoint_.sources_[rank] = channel_.post_of(rank).payload.data() + own_.first * element_;
    });
    fold(own_.first, own_.count);
  }

  void fold_from_rings(std::size_t total) {
    if (is_wanted()) {
      std::byte* const room = endpoint_.room_to_show(total);
      endpoint_.show(room, call_.send, total, endpoint_.stream_symmetric_);
      endpoint_.post(endpoint_.offset_of(room));
    } else {
      endpoint_.post(Word{0});
    }
    await_sources();
    if (own_.sources == 0) return;
    for_each_source([&](std::size_t rank) {
      endpoint_.sources_[rank] =
          endpoint_.shown_by(rank, endpoint_.payload_of<Word>(rank), total) + own_.first * element_;
    });
    fold(own_.first, own_.count);
  }

  void fold_from_origin() {
    const Reading reading(channel_, endpoint_.peers_);
    endpoint_.post(reinterpret_cast<Word>(call_.send));
    await_sources();
    const std::size_t piece = std::max<std::size_t>(1, endpoint_.agreement_.piece_bytes / element_);
    for (std::size_t done = 0; done < own_.count && own_.sources > 0; done += piece) {
      const std::size_t count = std::min(piece, own_.count - done);
      std::size_t slot = 0;
      for_each_source([&](std::size_t rank) {
        const Place place{endpoint_.payload_of<Word>(rank), 0, 0};
        endpoint_.sources_[rank] = endpoint_.reach_.view(rank, place, (own_.first + done) * element_, count * element_,
                                                         (*endpoint_.scratch_)[slot++]);
      });
      fold(own_.first + done, count);
    }
    // The buffers belong to the others until all have read.
    channel_.publish_drained(1);
    await_readers(1);
    channel_.take_steps(1);
  }

  void fold_by_chunks() {
    (void)channel_.open_post();
    std::byte* const own = is_wanted() ? endpoint_.ring_.take_all(channel_) : nullptr;
    channel_.publish(channel_.open_post());
    await_sources();
    const std::size_t chunk = chunk_ / element_;
    const std::size_t chunks = (shown_ + chunk - 1) / chunk;
    const auto show = [&](std::size_t index) {
      if (own == nullptr) return;
      if (index >= depth) await_readers(index - depth + 1);
      endpoint_.show(own + index % depth * chunk_, sent(index * chunk),
                     std::min(chunk, shown_ - index * chunk) * element_, endpoint_.stream_symmetric_);
      channel_.publish_filled(index + 1);
    };
    const auto take = [&](std::size_t index) {
      const std::size_t first = std::max(own_.first, index * chunk);
      const std::size_t end = std::min({own_.first + own_.count, (index + 1) * chunk, shown_});
      if (own_.sources > 0 && first < end) {
        for_each_source([&](std::size_t rank) {
          channel_.await_filled(rank, index + 1);
          endpoint_.sources_[rank] =
              endpoint_.ring_of(rank) + index % depth * chunk_ + (first - index * chunk) * element_;
        });
        fold(first, end - first);
      }
      channel_.publish_drained(index + 1);
    };
    one_piece_behind(chunks, show, take);
    channel_.take_steps(chunks);
  }

  void fold_huge_elements() {
    endpoint_.gather_huge_elements(call_, shown_, [&](std::size_t index) {
      if (own_.sources > 0 && index >= own_.first && index < own_.first + own_.count) fold(index, 1);
    });
  }

  Endpoint& endpoint_;
  const detail::AllreduceCall& call_;
  Channel& channel_;
  std::size_t rank_;
  std::size_t size_;
  std::size_t element_;
  std::size_t shown_;
  const WishOf& wish_of_;
  Wish own_;
  std::size_t chunk_;
};

}  // namespace cobre::comm::shm
