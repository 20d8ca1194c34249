#include "comm/backends/shm/shared_copy.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "comm/core/crash_point.hpp"

namespace cobre::comm::shm {
namespace {

constexpr Word all_given_up = ~Word{0};  // above every number of pieces

// The state: four flags, and how many pieces were claimed from either end. 0 is closed.
constexpr Word open_to_both = 1;
constexpr Word reading = 2;  // the taker is in the giver's memory
constexpr Word withdrawn = 4;
constexpr Word taker_left = 8;  // the taker has seen that and is out
constexpr unsigned piece_bits = 28;
constexpr unsigned front_shift = 8;
constexpr unsigned back_shift = front_shift + piece_bits;
constexpr Word most_pieces = (Word{1} << piece_bits) - 1;
static_assert(back_shift + piece_bits == 64);

constexpr Word front_of(Word state) noexcept {
  return state >> front_shift & most_pieces;
}
constexpr Word back_of(Word state) noexcept {
  return state >> back_shift;
}

// The end that is the slower one for a moment makes the other wait for no more than its last piece.
constexpr std::size_t smallest_piece = std::size_t{16} << 10;
constexpr std::size_t largest_piece = std::size_t{64} << 10;
// In one go: in between, the giver may withdraw.
constexpr std::size_t largest_claim = std::size_t{1} << 20;
// Sooner copied alone than a sleeper woken.
constexpr std::size_t worth_waking = std::size_t{1} << 20;

/// An offer as both ends see it: in pieces, the same for both because the length is.
class Pieces {
 public:
  explicit Pieces(std::size_t bytes) noexcept
      : bytes_(bytes),
        // The second keeps the number of pieces of any length within its bits.
        piece_(std::max(std::clamp(bytes / 8, smallest_piece, largest_piece) / line_bytes * line_bytes,
                        bytes >> (piece_bits - 1))),
        count_((bytes + piece_ - 1) / piece_) {}

  [[nodiscard]] Word unclaimed(Word state) const noexcept {
    const Word claimed = front_of(state) + back_of(state);
    return claimed < count_ ? count_ - claimed : 0;
  }
  /// Half of what is left: so there are few claims, and both come to the end at once.
  [[nodiscard]] Word next_claim(Word state) const noexcept {
    return std::clamp<Word>(unclaimed(state) / 2, 1, std::max<Word>(largest_claim / piece_, 1));
  }
  [[nodiscard]] std::size_t begin_of(Word piece) const noexcept { return std::min(piece * piece_, bytes_); }
  [[nodiscard]] std::size_t begin_of_back(Word claimed) const noexcept { return begin_of(count_ - claimed); }

 private:
  std::size_t bytes_;
  std::size_t piece_;
  Word count_;
};

}  // namespace

void Giver::offer(std::span<const std::byte> data) noexcept {
  data_ = data;
  put_ = 0;
  offered_.address.store(reinterpret_cast<Word>(data.data()), std::memory_order_relaxed);
  offered_.bytes.store(data.size(), std::memory_order_relaxed);
  offered_.put.store(0, std::memory_order_relaxed);
  // Release: pairs with is_offered(), after which all of this, and the bytes, are found.
  offered_.offers.store(++offers_, std::memory_order_release);
}

bool Giver::help(Reach& reach, std::size_t taker) noexcept {
  const Pieces pieces(data_.size());
  bool helped = false;
  // Acquire: pairs with the release in begin(), which stored the address first.
  Word state = granted_.state.load(std::memory_order_acquire);
  while ((state & open_to_both) != 0 && pieces.unclaimed(state) > 0 && put_ != all_given_up) {
    const Word claimed = pieces.next_claim(state);
    const Word next = state + (claimed << back_shift);
    // Where it succeeds nothing has changed since the load, so it still is this grant, at this address.
    if (!granted_.state.compare_exchange_weak(state, next, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    core::crash_point<"shm.piece_claimed">();  // where nobody may throw
    const std::size_t begin = pieces.begin_of_back(back_of(next));
    const std::size_t end = pieces.begin_of_back(back_of(state));
    const Place place{granted_.address.load(std::memory_order_relaxed), 0, 0};
    const bool written = reach.store(taker, place, begin, data_.data() + begin, end - begin);
    put_ = written ? put_ + claimed : all_given_up;
    // Release: pairs with giver_is_done(). The bytes are there, or nobody is writing, before the taker goes on.
    offered_.put.store(put_, std::memory_order_release);
    helped = true;
    state = granted_.state.load(std::memory_order_acquire);
  }
  return helped;
}

void Giver::withdraw(bool same_process) noexcept {
  // Acquire and release: what the taker read before counts, and nothing that it reads afterwards.
  const Word before = granted_.state.fetch_or(withdrawn, std::memory_order_acq_rel);
  if ((before & reading) == 0 || !same_process) return;
  while ((granted_.state.load(std::memory_order_acquire) & taker_left) == 0) std::this_thread::yield();
}

bool Taker::begin(std::byte* into, std::size_t most) noexcept {
  if (under_way_) return true;
  const Word offered = offered_.bytes.load(std::memory_order_relaxed);
  address_ = offered_.address.load(std::memory_order_relaxed);
  bytes_ = std::min<std::size_t>(offered, most);
  // Of a length that only one of the two believes in, the giver would write another part than is missing here.
  together_ = may_share_ && offered == most;
  granted_.address.store(reinterpret_cast<Word>(into), std::memory_order_relaxed);
  Word closed = 0;
  // Release: pairs with help(), which then finds the address.
  under_way_ = granted_.state.compare_exchange_strong(closed, reading | (together_ ? open_to_both : 0),
                                                      std::memory_order_acq_rel);
  return under_way_;
}

bool Taker::wants_help() const noexcept {
  return together_ && bytes_ >= worth_waking;
}

std::size_t Taker::take(Reach& reach, std::size_t giver, std::byte* into) noexcept {
  Word state = granted_.state.load(std::memory_order_acquire);
  if ((state & reading) != 0) {
    if (!read_pieces(reach, giver, into)) return 0;
    state = granted_.state.load(std::memory_order_acquire);
  }
  if (refusal_ != 0 || !giver_is_done(state)) return 0;
  if (back_of(state) > 0 && offered_.put.load(std::memory_order_relaxed) == all_given_up) {
    // It is alive, or what it did not write could not be read either: its part is read like the rest.
    const Word front_alone = (state & most_pieces << front_shift) | reading;
    if (!granted_.state.compare_exchange_strong(state, front_alone, std::memory_order_acq_rel)) return give_up();
    if (!read_pieces(reach, giver, into)) return 0;
  }
  if (!close()) return 0;
  ++taken_;
  may_share_ = true;
  return bytes_;
}

Word Taker::awaited() const noexcept {
  return back_of(granted_.state.load(std::memory_order_relaxed));
}

// Whether it came to the end; what the giver has claimed may still be missing.
bool Taker::read_pieces(Reach& reach, std::size_t giver, std::byte* into) noexcept {
  const Pieces pieces(bytes_);
  Word state = granted_.state.load(std::memory_order_acquire);
  for (;;) {
    if ((state & withdrawn) != 0) return give_up() != 0;
    const bool over = pieces.unclaimed(state) == 0 || refusal_ != 0;
    const Word next = over ? state & ~(open_to_both | reading) : state + (pieces.next_claim(state) << front_shift);
    // Acquire and release: what was read before this has not been withdrawn before it.
    if (!granted_.state.compare_exchange_weak(state, next, std::memory_order_acq_rel, std::memory_order_acquire)) {
      continue;
    }
    if (over) return refusal_ == 0;
    const std::size_t begin = pieces.begin_of(front_of(state));
    const std::size_t end = pieces.begin_of(front_of(next));
    refusal_ = reach.load(giver, {address_, 0, 0}, begin, into + begin, end - begin);
    state = next;
  }
}

// Acquire: pairs with the release in help().
bool Taker::giver_is_done(Word state) const noexcept {
  return offered_.put.load(std::memory_order_acquire) >= back_of(state);
}

void Taker::let_go(const Peers& peers, std::size_t giver) noexcept {
  if (!under_way_) return;
  // First nobody claims any more: else the giver might, between its last word and the closing. Acquire and release as
  // in read_pieces(), which has done this already where it came to its end.
  granted_.state.fetch_and(~(open_to_both | reading), std::memory_order_acq_rel);
  // No deadline applies here, because leaving would hand the memory to somebody else under the giver's pen.
  while (!giver_is_done(granted_.state.load(std::memory_order_acquire)) && peers.alive(giver)) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  (void)close();
  may_share_ = false;
}

// Whether the giver has not withdrawn meanwhile.
bool Taker::close() noexcept {
  Word state = granted_.state.load(std::memory_order_relaxed);
  while ((state & withdrawn) == 0) {
    // Nobody claims any more, so that only a withdrawal can come between. Release: what was read has been read before
    // the giver learns of it.
    if (granted_.state.compare_exchange_weak(state, 0, std::memory_order_acq_rel)) {
      under_way_ = false;
      return true;
    }
  }
  return give_up() != 0;
}

// The giver has withdrawn, so it does not write any more either. Pairs with withdraw().
std::size_t Taker::give_up() noexcept {
  granted_.state.fetch_or(taker_left, std::memory_order_acq_rel);
  under_way_ = false;
  return 0;
}

}  // namespace cobre::comm::shm
