#include "comm/backends/shm/mail.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "comm/backends/shm/stream.hpp"
#include "comm/core/format.hpp"

namespace cobre::comm::shm {
namespace {

// A long message is published in pieces, so that its receiver copies one out while the next is copied in.
constexpr std::size_t pieces = 4;

// Where pipes are small, because there are many: shorter ones are sooner copied twice than asked of the kernel.
constexpr std::size_t shortest_offer = std::size_t{16} << 10;

// Past the caches from here on, if near caches make that no worse; and from the other where far ones make it better.
constexpr std::size_t streamed_anyway = std::size_t{12} << 10;
constexpr std::size_t streamed_far = std::size_t{1} << 10;

using Clock = std::chrono::steady_clock;
constexpr auto patience_with_the_dying = std::chrono::seconds(1);

}  // namespace

MailPipes::MailPipes(const MailArea& area, Channel& channel, const Peers& peers, const Regions& regions,
                     const core::ForkGuard& guard, const Channel::Settings& settings)
    : area_(area),
      channel_(channel),
      peers_(peers),
      reach_(channel, peers, regions),
      guard_(guard),
      settings_{settings.policy, settings.timeout, settings.warn_after},
      asymmetric_fences_(settings.asymmetric_fences),
      capacity_(area.pipe_bytes()),
      bell_(area.bell(channel.rank())) {
  for (std::size_t peer = 0; peer < channel.size(); ++peer) {
    ends_.push_back({.out = &area.pipe(channel.rank(), peer), .in = &area.pipe(peer, channel.rank())});
  }
}

void MailPipes::enter(const Where& where) {
  if (guard_.in_child()) [[unlikely]]
    core::throw_in_child(where);
  channel_.require_no_verdict(where);
}

// Copies into the ring, round its end where necessary; there is room.
void MailPipes::put(Ends& ends, std::span<const std::byte> bytes) noexcept {
  const std::size_t place = ends.written & (capacity_ - 1);
  const std::size_t before_end = std::min(bytes.size(), capacity_ - place);
  const auto copy = [&](std::byte* to, std::span<const std::byte> part) {
    if (part.size() > (far_ ? streamed_far : streamed_anyway)) {
      copy_past_caches(to, part.data(), part.size());
    } else if (!part.empty()) {
      std::memcpy(to, part.data(), part.size());
    }
  };
  copy(ends.out->ring() + place, bytes.first(before_end));
  copy(ends.out->ring(), bytes.subspan(before_end));
  ends.written += bytes.size();
}

std::size_t MailPipes::push(std::size_t peer, std::span<const std::byte> first,
                            std::span<const std::byte> second) noexcept {
  Ends& ends = ends_[peer];
  std::size_t pushed = 0;
  const bool long_enough = single_copy_ && second.size() > std::max(capacity_, shortest_offer);
  while (!first.empty() || !second.empty()) {
    if (long_enough && first.empty()) return pushed + offer(peer, second);
    const std::size_t wanted = std::min(first.size() + (long_enough ? 0 : second.size()), capacity_ / pieces);
    if (capacity_ - (ends.written - ends.seen_read) < wanted) {
      // Acquire: pairs with the release in pull(). What lay there has been copied out before it is overwritten.
      ends.seen_read = ends.out->read.load(std::memory_order_acquire);
    }
    const std::size_t room = std::min(wanted, capacity_ - (ends.written - ends.seen_read));
    if (room == 0) break;
    const auto from_first = first.first(std::min(room, first.size()));
    const auto from_second = second.first(room - from_first.size());
    put(ends, from_first);
    put(ends, from_second);
    first = first.subspan(from_first.size());
    second = second.subspan(from_second.size());
    // Release: pairs with the acquire in pull(), which then finds the bytes.
    ends.out->written.store(ends.written, std::memory_order_release);
    wake(peer);
    pushed += room;
  }
  return pushed;
}

// Nothing that was accepted until the receiver has all of it.
std::size_t MailPipes::offer(std::size_t peer, std::span<const std::byte> bytes) noexcept {
  Ends& ends = ends_[peer];
  if (!ends.giver.offering()) {
    ends.giver.offer(bytes);
    wake(peer);
    return 0;
  }
  if (ends.giver.help(reach_, peer)) wake(peer);
  // Acquire: pairs with the release in fetch(). The receiver has read the bytes before their owner writes others.
  if (ends.out->read.load(std::memory_order_acquire) != ends.written + bytes.size()) return 0;
  ends.giver.taken();
  ends.written += bytes.size();
  ends.seen_read = ends.written;
  ends.out->written.store(ends.written, std::memory_order_release);
  return bytes.size();
}

std::size_t MailPipes::pull(std::size_t peer, std::byte* into, std::size_t most) noexcept {
  Ends& ends = ends_[peer];
  if (ends.seen_written <= ends.read) {
    // In this order: who sees an offer also sees what was written before it.
    const bool offered = ends.taker.is_offered();
    const Word written = ends.in->written.load(std::memory_order_acquire);  // pairs with push()
    if (written <= ends.read) {
      // What was fetched is counted by its sender only later.
      if (offered) return fetch(peer, into, most);
      // Whoever looks again soon then has the count and the bytes on their way at once, and not one after the other:
      // between cores that share no cache an eighth less of a short message's time.
      __builtin_prefetch(ends.in->ring() + (ends.read & (capacity_ - 1)));
      return 0;
    }
    // A peer whose memory is corrupt may claim anything: never more than the ring can hold is believed.
    ends.seen_written = std::min(written, ends.read + capacity_);
  }
  const std::size_t count = std::min<std::size_t>(most, ends.seen_written - ends.read);
  if (count == 0) return 0;
  const std::size_t place = ends.read & (capacity_ - 1);
  const std::size_t before_end = std::min(count, capacity_ - place);
  std::memcpy(into, ends.in->ring() + place, before_end);
  if (count > before_end) std::memcpy(into + before_end, ends.in->ring(), count - before_end);
  ends.read += count;
  ends.in->read.store(ends.read, std::memory_order_release);  // pairs with the acquire in push()
  wake(peer);
  return count;
}

std::size_t MailPipes::fetch(std::size_t peer, std::byte* into, std::size_t most) noexcept {
  Ends& ends = ends_[peer];
  if (!ends.taker.under_way()) {
    if (!ends.taker.begin(into, most)) return 0;
    if (ends.taker.wants_help()) wake(peer);
  }
  // Where the sender is gone, or its buffer is no ordinary memory, check() tells which.
  const std::size_t count = ends.taker.take(reach_, peer, into);
  // Its number may have been another process's already.
  if (count == 0 || !peers_.alive(peer)) return 0;
  ends.read += count;
  ends.in->read.store(ends.read, std::memory_order_release);  // pairs with the acquire in offer()
  wake(peer);
  return count;
}

void MailPipes::let_go(std::size_t peer) noexcept {
  // A child has its parent's pipes no more.
  if (!guard_.in_child()) ends_[peer].taker.let_go(peers_, peer);
}

void MailPipes::break_off(std::size_t peer) noexcept {
  if (guard_.in_child()) return;
  if (ends_[peer].giver.offering()) ends_[peer].giver.withdraw(peers_[peer].same_process);
  ends_[peer].out->broken_off.store(1, std::memory_order_release);  // pairs with check()
  wake(peer);
}

void MailPipes::check(const Where& where, std::size_t peer) const {
  const bool broken_off = ends_[peer].in->broken_off.load(std::memory_order_acquire) != 0;
  const auto is_there = [&] { return !broken_off && !channel_.has_left(peer) && peers_.alive(peer); };
  if (is_there()) {
    if (ends_[peer].taker.refusal() == 0) return;
    // The kernel takes a dying process's memory away before it reports the process dead.
    const auto give_up = Clock::now() + patience_with_the_dying;
    while (is_there() && Clock::now() < give_up) std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (is_there()) {
      throw CollectiveFailed(
          where, ends_[peer].taker.refusal(),
          core::format("the memory of rank {} cannot be read any more; switch single_copy off", peer));
    }
  }
  // It may have gone because of something that all are told. What it had seen of that before it broke off or left is
  // visible here: both are releases, and were acquired above.
  channel_.require_no_verdict(where);
  if (broken_off) {
    channel_.blame(peer);
    throw CollectiveFailed(where, 0,
                           core::format("rank {} gave up a message half-way, so nothing more can come from it", peer));
  }
  const std::size_t culprit = channel_.culprit_behind(peer);
  channel_.blame(culprit);
  throw PeerFailed(where, peers_.obituary(culprit));
}

void MailPipes::wake(std::size_t peer) noexcept {
  area_.bell(peer).ring(asymmetric_fences_);
}

}  // namespace cobre::comm::shm
