// One copy from the memory of a rank into that of another, done by both: the taker reads pieces from the front, and the
// giver, if it is there, writes pieces from the back, until they meet.
//
// A word between the two counts the pieces that each has claimed, so that none is claimed twice. The giver writes into
// the taker's memory only what it has claimed there, and says how many pieces it has put; the taker neither uses nor
// leaves the place before that is as many as were claimed, or the giver is dead.
//
//   closed ── open (taker) ──▶ open ──────── all claimed, or shut (taker) ──▶ nobody claims any more
//     ▲                         each claims pieces                                      │
//     └──────── all that was claimed is there; the giver may have its buffer back ──────┘
//
// A giver that gives up sets `withdrawn` in whichever state this is: from then on nothing counts that the taker reads,
// and the taker finds that out when it next changes the word. Another process reads garbage then, which nobody gets to
// see; a thread of the same process, which might read what is gone, is waited for while `reading` is set, until it has
// set `left`. Each offer is opened once for both, so a giver never takes one grant for another; if the taker's place is
// given up, it copies to the next one alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "comm/backends/shm/layout.hpp"
#include "comm/backends/shm/reach.hpp"

namespace cobre::comm::shm {

/// Written by the giver.
struct Offered {
  std::atomic<Word> offers;   // so far; the last one is
  std::atomic<Word> address;  // here, in the giver's memory,
  std::atomic<Word> bytes;    // so long
  std::atomic<Word> put;      // pieces of it that the giver has written, or all_given_up
};

/// Written by the taker; the state by both.
struct Granted {
  std::atomic<Word> address;  // where the bytes shall go, in the taker's memory
  std::atomic<Word> state;
};

class Giver {
 public:
  Giver(Offered& offered, Granted& granted) noexcept : offered_(offered), granted_(granted) {}

  [[nodiscard]] bool offering() const noexcept { return !data_.empty(); }
  /// From here on the bytes are the taker's to read, until it has them all or they are withdrawn.
  void offer(std::span<const std::byte> data) noexcept;
  /// Writes what the taker has not got to yet; whether that was anything.
  bool help(Reach& reach, std::size_t taker) noexcept;
  void taken() noexcept { data_ = {}; }
  /// From here on the bytes are their owner's alone.
  void withdraw(bool same_process) noexcept;

 private:
  Offered& offered_;
  Granted& granted_;
  std::span<const std::byte> data_;
  Word offers_ = 0;
  Word put_ = 0;
};

class Taker {
 public:
  Taker(const Offered& offered, Granted& granted) noexcept : offered_(offered), granted_(granted) {}

  /// Whether there is an offer that was not taken. What the giver wrote before it made it is visible afterwards.
  [[nodiscard]] bool is_offered() const noexcept {
    return offered_.offers.load(std::memory_order_acquire) != taken_;  // pairs with the release in offer()
  }
  /// Opens the offer, unless that was done; false where it was withdrawn. From here on the giver may write into `into`,
  /// which stays until the offer is taken, or let_go() says that it may go.
  [[nodiscard]] bool begin(std::byte* into, std::size_t most) noexcept;
  /// Whether the giver is worth waking for its help.
  [[nodiscard]] bool wants_help() const noexcept;
  /// All of the offer, or so much of it as was wanted; 0 while the giver still writes, and where it will never be
  /// whole.
  [[nodiscard]] std::size_t take(Reach& reach, std::size_t giver, std::byte* into) noexcept;
  /// Returns when nobody writes into the place any more. The offer stays, for another place.
  void let_go(const Peers& peers, std::size_t giver) noexcept;
  [[nodiscard]] bool under_way() const noexcept { return under_way_; }
  /// Of what is under way: this many pieces the giver has claimed, and has written when put() says so.
  [[nodiscard]] const std::atomic<Word>& put() const noexcept { return offered_.put; }
  [[nodiscard]] Word awaited() const noexcept;
  /// 0, or why the kernel did not let the offer be read.
  [[nodiscard]] int refusal() const noexcept { return refusal_; }

 private:
  [[nodiscard]] bool read_pieces(Reach& reach, std::size_t giver, std::byte* into) noexcept;
  [[nodiscard]] bool giver_is_done(Word state) const noexcept;
  [[nodiscard]] bool close() noexcept;
  std::size_t give_up() noexcept;

  const Offered& offered_;
  Granted& granted_;
  Word taken_ = 0;
  Word address_ = 0;  // of the offer that is being taken,
  std::size_t bytes_ = 0;
  bool under_way_ = false;
  bool together_ = false;
  bool may_share_ = true;
  int refusal_ = 0;
};

}  // namespace cobre::comm::shm
