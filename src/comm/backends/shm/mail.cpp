#include "comm/backends/shm/mail.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "comm/core/format.hpp"

namespace cobre::comm::shm {
namespace {

// A long message is published in pieces, so that its receiver copies one out while the next is copied in.
constexpr std::size_t pieces = 4;

// Where pipes are small, because there are many: shorter ones are sooner copied twice than asked of the kernel.
constexpr std::size_t shortest_offer = std::size_t{16} << 10;
// At once: in between, the sender may withdraw.
constexpr std::size_t largest_fetch = std::size_t{1} << 20;

using Clock = std::chrono::steady_clock;
constexpr auto patience_with_the_dying = std::chrono::seconds(1);

}  // namespace

MailPipes::MailPipes(const MailArea& area, Channel& channel, const Peers& peers, const core::ForkGuard& guard,
                     const Channel::Settings& settings)
    : area_(area),
      channel_(channel),
      peers_(peers),
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
  if (guard_.in_child()) [[unlikely]] {
    throw InvalidCommunicator(where,
                              "this process was forked from the one that is this rank; only that one may use it");
  }
  channel_.require_no_verdict(where);
}

// Copies into the ring, round its end where necessary; there is room.
void MailPipes::put(Ends& ends, std::span<const std::byte> bytes) noexcept {
  const std::size_t place = ends.written & (capacity_ - 1);
  const std::size_t before_end = std::min(bytes.size(), capacity_ - place);
  if (before_end > 0) std::memcpy(ends.out->ring() + place, bytes.data(), before_end);
  if (bytes.size() > before_end) std::memcpy(ends.out->ring(), bytes.data() + before_end, bytes.size() - before_end);
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
  MailPipe& pipe = *ends.out;
  if (!ends.offering) {
    ends.offering = true;
    pipe.offered_address.store(reinterpret_cast<Word>(bytes.data()), std::memory_order_relaxed);
    pipe.offered_bytes.store(bytes.size(), std::memory_order_relaxed);
    // Release: pairs with pull(), which then finds where, how long, all that was written before, and the bytes there.
    pipe.offers.store(++ends.offers_made, std::memory_order_release);
    wake(peer);
    return 0;
  }
  // Acquire: pairs with the release in fetch(). The receiver has read the bytes before their owner writes others.
  if (pipe.read.load(std::memory_order_acquire) != ends.written + bytes.size()) return 0;
  ends.offering = false;
  ends.written += bytes.size();
  ends.seen_read = ends.written;
  pipe.written.store(ends.written, std::memory_order_release);
  return bytes.size();
}

std::size_t MailPipes::pull(std::size_t peer, std::byte* into, std::size_t most) noexcept {
  Ends& ends = ends_[peer];
  if (ends.seen_written <= ends.read) {
    // In this order: who sees an offer also sees what was written before it.
    const Word offers = ends.in->offers.load(std::memory_order_acquire);    // pairs with offer()
    const Word written = ends.in->written.load(std::memory_order_acquire);  // pairs with push()
    // What was fetched is counted by its sender only later.
    if (written <= ends.read) return offers != ends.offers_taken ? fetch(peer, into, most) : 0;
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
  MailPipe& pipe = *ends.in;
  const Word bytes = pipe.offered_bytes.load(std::memory_order_relaxed);
  const Word address = pipe.offered_address.load(std::memory_order_relaxed);
  if (ends.fetched >= bytes) return 0;
  const std::size_t count = std::min({most, static_cast<std::size_t>(bytes - ends.fetched), largest_fetch});
  // Acquire and release: what is read between these two has not been withdrawn before the second.
  Hold open = Hold::Open;
  if (!pipe.hold.compare_exchange_strong(open, Hold::BeingRead, std::memory_order_acq_rel)) return 0;
  const int refusal = copy_from(peer, address + ends.fetched, into, count);
  Hold reading = Hold::BeingRead;
  if (!pipe.hold.compare_exchange_strong(reading, Hold::Open, std::memory_order_acq_rel)) {
    pipe.hold.store(Hold::Left, std::memory_order_release);  // pairs with withdraw()
    return 0;
  }
  if (refusal != 0) {  // the sender is gone, or its buffer is no ordinary memory: check() tells which
    ends.refusal = refusal;
    return 0;
  }
  ends.fetched += count;
  ends.read += count;
  pipe.read.store(ends.read, std::memory_order_release);  // pairs with the acquire in offer()
  if (ends.fetched == bytes) {
    ends.fetched = 0;
    ++ends.offers_taken;
    wake(peer);  // it waits for nothing less
  }
  return count;
}

int MailPipes::copy_from(std::size_t peer, Word address, std::byte* into, std::size_t bytes) const noexcept {
  if (peers_[peer].same_process) {
    std::memcpy(into, reinterpret_cast<const std::byte*>(address), bytes);
    return 0;
  }
  while (bytes > 0) {
    const iovec local{into, bytes};
    const iovec source{reinterpret_cast<void*>(address), bytes};
    const ssize_t moved = process_vm_readv(peers_[peer].pid, &local, 1, &source, 1, 0);
    if (moved <= 0) return moved < 0 ? errno : EFAULT;
    into += moved;
    address += static_cast<Word>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  // Its number may have been another process's already.
  return peers_.alive(peer) ? 0 : ESRCH;
}

// From here on the buffer is its owner's alone: what another process is reading of it will not count, and a thread of
// this process, which might find it gone, is waited for.
void MailPipes::withdraw(std::size_t peer) noexcept {
  std::atomic<Hold>& hold = ends_[peer].out->hold;
  if (hold.exchange(Hold::Withdrawn, std::memory_order_acq_rel) != Hold::BeingRead) return;
  if (!peers_[peer].same_process) return;
  while (hold.load(std::memory_order_acquire) != Hold::Left) std::this_thread::yield();
}

void MailPipes::break_off(std::size_t peer) noexcept {
  if (ends_[peer].offering) withdraw(peer);
  ends_[peer].out->broken_off.store(1, std::memory_order_release);  // pairs with check()
  wake(peer);
}

void MailPipes::check(const Where& where, std::size_t peer) const {
  const bool broken_off = ends_[peer].in->broken_off.load(std::memory_order_acquire) != 0;
  const auto is_there = [&] { return !broken_off && !channel_.has_left(peer) && peers_.alive(peer); };
  if (is_there()) {
    if (ends_[peer].refusal == 0) return;
    // The kernel takes a dying process's memory away before it reports the process dead.
    const auto give_up = Clock::now() + patience_with_the_dying;
    while (is_there() && Clock::now() < give_up) std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (is_there()) {
      throw CollectiveFailed(
          where, ends_[peer].refusal,
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
  Bell& bell = area_.bell(peer);
  if (asymmetric_fences_) [[likely]] {
    // Dekker with the fence on the other side, as in Channel::ring_own_bell(): the sleeper counts itself, executes a
    // heavy fence, and looks once more. Either it sees our store, or we see it counted. The compiler must not swap the
    // two.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (bell.sleepers.load(std::memory_order_relaxed) == 0) [[likely]]
      return;
  } else if (bell.sleepers.fetch_add(0, std::memory_order_acq_rel) == 0) {
    // Two read-modify-writes of one word are ordered. If ours is first, the sleeper's acquires it and with it our
    // store; if the sleeper's is first, we see it.
    return;
  }
  bell.rings.fetch_add(1, std::memory_order_release);  // who wakes up and sees it also sees what was stored before
  core::wake_sleepers(bell.rings);
}

}  // namespace cobre::comm::shm
