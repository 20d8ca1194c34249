// Gather, scatter and alltoall: who has parts for others shows them, and each of these takes its own.
//
//   bytes that a rank shows   way        steps
//   up to inline_parts        inline     1: they travel in the post
//   below exposed_bytes       shown      1: packed, in its ring; in an alltoall below exchanged_bytes
//   above                     exposed    from buffer to buffer, where all can be reached; with a root both ends copy
//                             chunked    packed, chunk by chunk through its ring, where not
//
// Each rank chooses its way and says so in its post. Who gets nothing from a rank does not wait for it where everyone
// knows how many steps it takes: none where all parts are equally long and short; one where a rank would expose long
// ones, whether any is long or not, so that nobody need ask. Otherwise all wait for all posts, which tell it.

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "comm/backends/shm/delivery.hpp"
#include "comm/backends/shm/perform.hpp"
#include "comm/backends/shm/pieces.hpp"
#include "comm/backends/shm/stream.hpp"

namespace cobre::comm::shm {
namespace {

enum class Way : Word { Inline, Shown, Exposed, Chunked };

constexpr std::size_t inline_parts = inline_bytes - 2 * sizeof(Word);
constexpr std::size_t depth = 4;  // chunks in a ring

struct Notice {
  Word way_and_bytes;                        // the way in the lowest two bits
  Word place;                                // in the ring; of what is inline, the counts
  std::array<std::byte, inline_parts> data;  // the parts, if they fit; else the table, where ranks are few

  [[nodiscard]] Way way() const noexcept { return static_cast<Way>(way_and_bytes % 4); }
  [[nodiscard]] std::size_t bytes() const noexcept { return way_and_bytes / 4; }
};
static_assert(sizeof(Notice) == inline_bytes);

/// How many elements of what is inline are for whom, a byte for each of a few receivers.
class InlineCounts {
 public:
  static constexpr std::size_t most = sizeof(Word);
  static_assert(inline_parts < 256);

  explicit InlineCounts(Word word = 0) noexcept : word_(word) {}
  void add(std::size_t index, std::size_t count) noexcept { word_ |= static_cast<Word>(count) << (8 * index); }

  [[nodiscard]] Word word() const noexcept { return word_; }
  [[nodiscard]] std::size_t of(std::size_t index) const noexcept { return word_ >> (8 * index) & 0xFF; }
  [[nodiscard]] std::size_t before(std::size_t index) const noexcept {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < index; ++i) sum += of(i);
    return sum;
  }

 private:
  Word word_;
};

/// What a receiver needs to know: in elements of what its sender shows.
struct Entry {
  Word count;
  Word displ;
};

constexpr std::size_t rounded(std::size_t bytes) noexcept {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

}  // namespace

class Endpoint::Deliverer {
 public:
  Deliverer(Endpoint& endpoint, const Delivery& delivery)
      : endpoint_(endpoint),
        delivery_(delivery),
        channel_(endpoint.channel_),
        rank_(endpoint.rank_),
        size_(endpoint.size_),
        posted_table_(delivery.needs_table() && others_table() <= inline_parts ? others_table() : 0),
        table_bytes_(delivery.needs_table() && posted_table_ == 0 ? size_ * sizeof(Entry) : 0),
        chunk_((endpoint.ring_.bytes() - rounded(table_bytes_)) / depth / line_bytes * line_bytes) {
    for (std::size_t to = 0; to < size_; ++to) total_ += to == rank_ ? 0 : bytes(delivery.outgoing(to).count);
  }

  void run() {
    if (delivery_.uniform() && is_short(bytes(delivery_.most_shown(size_)))) return run_short();
    delivery_.has_root() && exposes() ? run_by_pairs() : run_together();
  }

 private:
  struct LongParts {
    std::optional<Reading> reading;
    std::optional<PartCopies> copies;
  };

  void run_short() {
    show();
    take_own();
    for_each_sender([&](std::size_t from) {
      (void)channel_.await_post(from);
      take(from);
    });
    note_posts_seen();
  }

  /// Each rank with those with whom it shares parts, in one step; nothing is in chunks. What is short is taken at once,
  /// what is long when all that is has been opened.
  void run_by_pairs() {
    LongParts kept;
    kept_ = &kept;
    show();
    const bool own_is_short = bytes(delivery_.incoming(rank_).count) < shortest_shared_part;
    if (own_is_short) take_own();
    for_each_sender([&](std::size_t from) {
      (void)channel_.await_post(from);
      note_way(from);
      if (way_of(from) != Way::Exposed) take(from);
    });
    open_all();
    if (!own_is_short) take_own();
    if (exposed_) {
      for_each_sender([&](std::size_t from) {
        if (way_of(from) == Way::Exposed) take(from);
      });
    }
    if (way_ == Way::Exposed) {
      for_each_receiver([&](std::size_t to) { (void)channel_.await_post(to); });
    }
    finish_exposed();
    channel_.take_steps(1);
    note_posts_seen();
  }

  void run_together() {
    LongParts kept;
    kept_ = &kept;
    show();
    channel_.await_posts();
    std::size_t chunks = 0;
    for (std::size_t from = 0; from < size_; ++from) {
      if (from != rank_) note_way(from);
      const Notice notice = endpoint_.payload_of<Notice>(from);
      if (notice.way() == Way::Chunked) chunks = std::max(chunks, (notice.bytes() + chunk_ - 1) / chunk_);
    }
    const Word steps = std::max<std::size_t>(chunks, exposed_ || way_ == Way::Exposed ? 1 : 0);
    open_all();
    take_own();
    for_each_sender([&](std::size_t from) { take(from); });
    finish_exposed();
    one_piece_behind(
        chunks, [&](std::size_t index) { show_chunk(index); }, [&](std::size_t index) { take_chunk(index); });
    channel_.take_steps(steps);
  }

  void note_posts_seen() noexcept {
    bool all = true;
    for (std::size_t from = 0; from < size_; ++from) all = all && (from == rank_ || delivery_.links(from, rank_));
    if (all) channel_.saw_all_posts();
  }

  /// Before this rank exposes its buffers, or reads those of others: what is short does without.
  void prepare_exposed() {
    if (copies_ != nullptr) return;
    kept_->reading.emplace(channel_, endpoint_.peers_);
    copies_ = &kept_->copies.emplace(endpoint_.copies_, channel_, endpoint_.peers_, endpoint_.reach_);
  }
  [[nodiscard]] Way way_of(std::size_t from) const noexcept { return endpoint_.payload_of<Notice>(from).way(); }
  void note_way(std::size_t from) { exposed_ = exposed_ || way_of(from) == Way::Exposed; }
  void open_all() {
    if (!exposed_) return;
    prepare_exposed();
    for_each_sender([&](std::size_t from) { open(from); });
    channel_.publish_filled(1);
    core::crash_point<"shm.parts_open">();
  }
  void finish_exposed() {
    if (exposed_) channel_.publish_drained(1);
    if (way_ != Way::Exposed) return;
    for_each_receiver([&](std::size_t to) {
      channel_.await_filled(to, 1);
      core::crash_point<"shm.about_to_help">();
      copies_->help(to);
    });
    // The buffers belong to the others until all have fetched.
    await_receivers(1);
  }

  [[nodiscard]] std::size_t bytes(std::size_t elements) const noexcept { return elements * delivery_.element_size(); }
  [[nodiscard]] const std::byte* sent(std::size_t element) const noexcept {
    return static_cast<const std::byte*>(delivery_.send()) + bytes(element);
  }
  [[nodiscard]] std::byte* received(std::size_t element) const noexcept {
    return static_cast<std::byte*>(delivery_.recv()) + bytes(element);
  }
  [[nodiscard]] bool is_short(std::size_t shown) const noexcept {
    const std::size_t too_long =
        delivery_.has_root() ? endpoint_.agreement_.exposed_bytes : endpoint_.exchanged_bytes();
    return shown <= inline_parts || (shown < too_long && shown <= endpoint_.ring_.bytes() / 4);
  }
  // The kernel takes its time for each page. That is worth it where one end would have nothing to do otherwise; where
  // all send and receive, and have a core each, it was tried out. All ranks choose alike.
  [[nodiscard]] bool exposes() const noexcept {
    return endpoint_.single_copy_ && (delivery_.has_root() || endpoint_.reduces_from_origin() ||
                                      endpoint_.kernel_exchanges_ || size_ > endpoint_.agreement_.cpus);
  }
  template <class Visit>
  void for_each_sender(Visit&& visit) {
    for (std::size_t step = 1; step < size_; ++step) {
      const std::size_t from = channel_.peer(step);
      if (delivery_.links(from, rank_)) visit(from);
    }
  }
  template <class Visit>
  void for_each_receiver(Visit&& visit) {
    for (std::size_t ahead = 1; ahead < size_; ++ahead) {
      const std::size_t to = channel_.peer(ahead);
      if (delivery_.links(rank_, to)) visit(to);
    }
  }
  void await_receivers(Word step) {
    for_each_receiver([&](std::size_t to) { channel_.await_drained(to, step); });
  }

  [[nodiscard]] bool has_receivers() const noexcept {
    for (std::size_t to = 0; to < size_; ++to) {
      if (to != rank_ && delivery_.links(rank_, to)) return true;
    }
    return false;
  }

  // The bytes [begin, begin + length) of all parts for others, one behind the other.
  void pack(std::byte* into, std::size_t begin, std::size_t length) const {
    std::size_t at = 0;
    for (std::size_t to = 0; to < size_ && at < begin + length; ++to) {
      if (to == rank_) continue;
      const Part part = delivery_.outgoing(to);
      const std::size_t first = std::max(at, begin);
      const std::size_t end = std::min(at + bytes(part.count), begin + length);
      if (first < end) std::memcpy(into + (first - begin), sent(part.displ) + (first - at), end - first);
      at += bytes(part.count);
    }
  }

  /// Which of the others of `from` the rank `to` is.
  [[nodiscard]] static std::size_t index_of(std::size_t from, std::size_t to) noexcept {
    return to > from ? to - 1 : to;
  }
  /// Where the entry for `to` stands in the table of `from`: in a post there is no room for those that nobody reads.
  [[nodiscard]] std::size_t place_in_table(std::size_t from, std::size_t to) const noexcept {
    return (posted_table_ > 0 ? index_of(from, to) : to) * sizeof(Entry);
  }
  /// Whether all ranks can tell the parts apart that a rank posts inline.
  [[nodiscard]] bool tells_inline_parts() const noexcept {
    return !delivery_.needs_table() || size_ - 1 <= InlineCounts::most;
  }
  [[nodiscard]] Word inline_counts() const noexcept {
    InlineCounts counts;
    if (!delivery_.needs_table() || !tells_inline_parts()) return counts.word();
    for (std::size_t to = 0; to < size_; ++to) {
      if (to != rank_) counts.add(index_of(rank_, to), delivery_.outgoing(to).count);
    }
    return counts.word();
  }
  [[nodiscard]] std::size_t others_table() const noexcept { return (size_ - 1) * sizeof(Entry); }

  void write_table(std::byte* into, bool packed) const {
    if (!delivery_.needs_table()) return;
    std::size_t at = 0;
    for (std::size_t to = 0; to < size_; ++to) {
      if (to == rank_) continue;
      const Part part = delivery_.outgoing(to);
      const Entry entry{part.count, packed ? at : part.displ};
      std::memcpy(into + place_in_table(rank_, to), &entry, sizeof entry);
      at += part.count;
    }
  }

  void show() {
    Notice notice{};
    const auto table_at = [&](std::byte* ring) { return posted_table_ > 0 ? notice.data.data() : ring; };
    if ((total_ <= inline_parts && tells_inline_parts()) || !has_receivers()) {
      way_ = Way::Inline;
      notice.place = inline_counts();
      pack(notice.data.data(), 0, total_);
    } else if (is_short(total_ + table_bytes_)) {
      way_ = Way::Shown;
      std::byte* const room = endpoint_.room_to_show(table_bytes_ + total_);
      write_table(table_at(room), true);
      pack(room + table_bytes_, 0, total_);
      notice.place = endpoint_.offset_of(room);
    } else if (exposes()) {
      way_ = Way::Exposed;
      prepare_exposed();
      std::byte* const room = endpoint_.room_to_show(sizeof(Word) + table_bytes_);
      const auto address = reinterpret_cast<Word>(delivery_.send());
      std::memcpy(room, &address, sizeof address);
      write_table(table_at(room + sizeof address), false);
      notice.place = endpoint_.offset_of(room);
      if (delivery_.has_root()) offer();
    } else {
      way_ = Way::Chunked;
      (void)channel_.open_post();
      write_table(table_at(endpoint_.ring_.take_all(channel_)), true);
    }
    notice.way_and_bytes = 4 * total_ + static_cast<Word>(way_);
    endpoint_.post(notice);
  }

  void take_own() {
    const Part part = delivery_.incoming(rank_);
    if (part.count == 0) return;
    endpoint_.show(received(part.displ), sent(delivery_.outgoing(rank_).displ), bytes(part.count),
                   bytes(part.count) >= too_long_for_caches);
  }

  /// What `from` says of its part for this rank; throws where that is another length than is expected here.
  [[nodiscard]] Entry entry_of(std::size_t from, const Notice& notice) {
    const std::size_t expected = delivery_.incoming(from).count;
    const bool packed = notice.way() != Way::Exposed;
    Entry entry{expected, delivery_.known_displ(from, rank_, expected, packed)};
    if (delivery_.uniform()) return entry;
    if (!delivery_.needs_table()) {
      entry.count = notice.bytes() / delivery_.element_size();
    } else if (notice.way() == Way::Inline) {
      const InlineCounts counts(notice.place);
      const std::size_t index = index_of(from, rank_);
      if (tells_inline_parts()) entry = {counts.of(index), counts.before(index)};
    } else if (posted_table_ > 0) {
      std::memcpy(&entry, notice.data.data() + place_in_table(from, rank_), sizeof entry);
    } else {
      const std::byte* table = endpoint_.ring_of(from);
      if (notice.way() == Way::Shown) table = endpoint_.shown_by(from, notice.place, table_bytes_);
      if (notice.way() == Way::Exposed) {
        table = endpoint_.shown_by(from, notice.place, sizeof(Word) + table_bytes_) + sizeof(Word);
      }
      std::memcpy(&entry, table + place_in_table(from, rank_), sizeof entry);
    }
    if (entry.count != expected) [[unlikely]] {
      channel_.disagree_on_length({.sender = from, .receiver = rank_, .sent = entry.count, .expected = expected});
    }
    return entry;
  }

  /// Long parts are copied by both ends, unless these are both busy: in an alltoall sharing would only be in the way.
  void offer() {
    for_each_receiver([&](std::size_t to) {
      const Part part = delivery_.outgoing(to);
      copies_->offer(to, {sent(part.displ), bytes(part.count)});
    });
  }
  void open(std::size_t from) {
    const Notice notice = endpoint_.payload_of<Notice>(from);
    if (notice.way() != Way::Exposed || !delivery_.has_root()) return;
    const std::size_t count = entry_of(from, notice).count;
    copies_->open(from, {received(delivery_.incoming(from).displ), bytes(count)});
  }

  void take(std::size_t from) {
    const Notice notice = endpoint_.payload_of<Notice>(from);
    const Entry entry = entry_of(from, notice);
    if (entry.count == 0) return;
    std::byte* const into = received(delivery_.incoming(from).displ);
    switch (notice.way()) {
      case Way::Inline: {
        const std::size_t room = inline_parts;
        if (entry.displ > room || bytes(entry.displ) > room || bytes(entry.count) > room - bytes(entry.displ))
            [[unlikely]]
          endpoint_.throw_corrupt(from);
        std::memcpy(into, notice.data.data() + bytes(entry.displ), bytes(entry.count));
        return;
      }
      case Way::Shown: {
        const Word place = notice.place + table_bytes_ + bytes(entry.displ);
        std::memcpy(into, endpoint_.shown_by(from, place, bytes(entry.count)), bytes(entry.count));
        return;
      }
      case Way::Exposed: {
        if (copies_->is_open(from)) return copies_->take(from, into);
        Word address = 0;
        std::memcpy(&address, endpoint_.shown_by(from, notice.place, sizeof address), sizeof address);
        return endpoint_.reach_.fetch(from, Place{address, 0, 0}, bytes(entry.displ), into, bytes(entry.count));
      }
      case Way::Chunked: return;  // in steps, by all together
    }
  }

  [[nodiscard]] std::byte* chunk_of(std::size_t rank, std::size_t index) const noexcept {
    return endpoint_.ring_of(rank) + rounded(table_bytes_) + index % depth * chunk_;
  }

  void show_chunk(std::size_t index) {
    if (way_ != Way::Chunked || index * chunk_ >= total_) return;
    if (index >= depth) await_receivers(index - depth + 1);
    pack(chunk_of(rank_, index), index * chunk_, std::min(chunk_, total_ - index * chunk_));
    channel_.publish_filled(index + 1);
  }

  void take_chunk(std::size_t index) {
    for_each_sender([&](std::size_t from) {
      const Notice notice = endpoint_.payload_of<Notice>(from);
      if (notice.way() != Way::Chunked) return;
      const Entry entry = entry_of(from, notice);
      const std::size_t begin = bytes(entry.displ);
      const std::size_t first = std::max(begin, index * chunk_);
      const std::size_t end = std::min(begin + bytes(entry.count), (index + 1) * chunk_);
      if (first >= end) return;
      channel_.await_filled(from, index + 1);
      std::memcpy(received(delivery_.incoming(from).displ) + (first - begin),
                  chunk_of(from, index) + (first - index * chunk_), end - first);
    });
    channel_.publish_drained(index + 1);
  }

  Endpoint& endpoint_;
  const Delivery& delivery_;
  Channel& channel_;
  std::size_t rank_;
  std::size_t size_;
  std::size_t posted_table_;  // bytes of the table of what is not inline, in the post …
  std::size_t table_bytes_;   // … or before the parts
  std::size_t chunk_;
  std::size_t total_ = 0;  // bytes for others
  Way way_ = Way::Inline;
  bool exposed_ = false;          // somebody else's parts are, and so this rank takes a step
  LongParts* kept_ = nullptr;     // of an operation in which there may be any …
  PartCopies* copies_ = nullptr;  // … and there are
};

void Endpoint::deliver(const detail::OperationRecord& record, const Delivery& delivery) {
  perform(record, [&] { Deliverer(*this, delivery).run(); });
}

void Endpoint::execute(const detail::OperationRecord& record, const detail::GatherCall& call) {
  deliver(record, Delivery(call, rank_));
}
void Endpoint::execute(const detail::OperationRecord& record, const detail::ScatterCall& call) {
  deliver(record, Delivery(call, rank_));
}
void Endpoint::execute(const detail::OperationRecord& record, const detail::AlltoallCall& call) {
  deliver(record, Delivery(call, rank_));
}

}  // namespace cobre::comm::shm
