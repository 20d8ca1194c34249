// The long parts of a gather or scatter: each is copied by the rank that has it and the one that wants it,
// together. Who is done with its own parts helps those who are not.
//
//   giver      offer, then its post ─────────────────────▶ help, once the taker says that its places are open
//   taker                 sees all posts, open, says so ─▶ take ─▶ says that it has all, and the giver may go on
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <vector>

#include "comm/backends/shm/channel.hpp"
#include "comm/backends/shm/mail_layout.hpp"
#include "comm/backends/shm/peers.hpp"
#include "comm/backends/shm/shared_copy.hpp"

namespace cobre::comm::shm {

/// Shorter parts are sooner copied alone than shared.
inline constexpr std::size_t shortest_shared_part = std::size_t{64} << 10;

/// This rank's ends of the copies to and from each other rank, for as long as there is a group.
class CopyEnds {
 public:
  struct Pair {
    Giver giver;
    Taker taker;
  };

  CopyEnds(const MailArea& area, std::size_t rank, std::size_t size) {
    for (std::size_t peer = 0; peer < size; ++peer) {
      MailPipe& out = area.pipe(rank, peer);
      MailPipe& in = area.pipe(peer, rank);
      pairs_.push_back({Giver(out.part_offered, out.part_granted), Taker(in.part_offered, in.part_granted)});
    }
  }
  [[nodiscard]] Pair& operator[](std::size_t peer) noexcept { return pairs_[peer]; }
  [[nodiscard]] std::size_t size() const noexcept { return pairs_.size(); }

 private:
  std::vector<Pair> pairs_;
};

/// What is under way in one operation. Where that fails, nobody writes into this rank's memory any more, and no thread
/// reads it, once this is gone.
class PartCopies {
 public:
  PartCopies(CopyEnds& ends, Channel& channel, const Peers& peers, Reach& reach) noexcept
      : ends_(ends), channel_(channel), peers_(peers), reach_(reach), exceptions_(std::uncaught_exceptions()) {}
  PartCopies(const PartCopies&) = delete;
  PartCopies& operator=(const PartCopies&) = delete;
  ~PartCopies() {
    const bool failed = std::uncaught_exceptions() > exceptions_;
    // Everyone shall know before anyone is waited for.
    if (failed) channel_.finish("an operation failed on this rank");
    // In this order: a thread that withdraws waits for the takers of its parts, and must not be waited for by them.
    for (std::size_t peer = 0; failed && peer < ends_.size(); ++peer) ends_[peer].taker.let_go(peers_, peer);
    for (std::size_t peer = 0; peer < ends_.size(); ++peer) {
      Giver& giver = ends_[peer].giver;
      if (!giver.offering()) continue;
      if (failed) giver.withdraw(peers_[peer].same_process);
      giver.taken();
    }
  }

  /// Before this rank's post, which tells the taker.
  void offer(std::size_t to, std::span<const std::byte> part) noexcept {
    if (part.size() >= shortest_shared_part) ends_[to].giver.offer(part);
  }
  /// After the giver's post. From here on it may write into `into`.
  void open(std::size_t from, std::span<std::byte> into) {
    if (into.size() < shortest_shared_part) return;
    if (!ends_[from].taker.begin(into.data(), into.size())) channel_.throw_unreachable(from, 0);
  }
  [[nodiscard]] bool is_open(std::size_t from) noexcept { return ends_[from].taker.under_way(); }
  void take(std::size_t from, std::byte* into) {
    Taker& taker = ends_[from].taker;
    while (taker.take(reach_, from, into) == 0) {
      if (taker.refusal() != 0 || !taker.under_way()) channel_.throw_unreachable(from, taker.refusal());
      channel_.wait(taker.put(), taker.awaited(), from);
    }
  }
  /// After the taker has said that its places are open.
  void help(std::size_t to) noexcept {
    Giver& giver = ends_[to].giver;
    if (giver.offering() && giver.help(reach_, to)) channel_.ring_own_bell();
  }

 private:
  CopyEnds& ends_;
  Channel& channel_;
  const Peers& peers_;
  Reach& reach_;
  int exceptions_;
};

}  // namespace cobre::comm::shm
