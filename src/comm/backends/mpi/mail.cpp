#include "comm/backends/mpi/mail.hpp"

#include <ferrompi/constants.hpp>

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#include "comm/algorithms/mail_warnings.hpp"
#include "comm/backends/mpi/errors.hpp"
#include "comm/core/exclusive.hpp"
#include "comm/core/format.hpp"
#include "comm/core/progress.hpp"
#include "comm/core/waiting.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using detail::Envelope;
using detail::Realm;
using detail::Transfer;
using Duration = std::chrono::nanoseconds;

constexpr Duration forever = detail::for_ever;
constexpr int looks_before_yielding = 64;
constexpr auto patience_at_the_end = std::chrono::seconds(1);  // with what MPI still moves

// Both realms share a communicator: the lowest bit of MPI's tag says which.
std::int64_t largest_native_tag() noexcept {
  return (static_cast<std::int64_t>(ferrompi::detail::largest_tag) - 1) / 2;
}
int native_tag(const Envelope& envelope) noexcept {
  return static_cast<int>(2 * envelope.tag + (envelope.realm == Realm::Channel ? 1 : 0));
}
Envelope envelope_of(const ferrompi::Message& message) noexcept {
  return {static_cast<std::size_t>(message.source()), message.tag() / 2,
          message.tag() % 2 == 1 ? Realm::Channel : Realm::Plain};
}
int native_rank(const Envelope& envelope) noexcept {
  return static_cast<int>(envelope.peer);
}
bool same_channel(const Envelope& a, const Envelope& b) noexcept {
  return a.peer == b.peer && a.tag == b.tag && a.realm == b.realm;
}

Parcel* parcel_of(const Transfer& transfer) noexcept {
  return static_cast<Parcel*>(transfer.attachment.get());
}

// Null where there is no memory: those who ask can do without.
std::unique_ptr<std::byte[]> try_to_allocate(std::size_t bytes) noexcept {
  return std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[bytes]);
}

}  // namespace

Mail::Mail(std::shared_ptr<ferrompi::Mpi> mpi, const ferrompi::Communicator& world, std::shared_ptr<const Gate> gate,
           std::optional<Duration> timeout, Duration warn_after)
    : Mailbox(static_cast<std::size_t>(world.rank()), static_cast<std::size_t>(world.size()), largest_native_tag()),
      mpi_(std::move(mpi)),
      comm_(world.duplicate()),
      gate_(std::move(gate)),
      timeout_(timeout.value_or(forever)),
      warn_after_(warn_after),
      self_(rank(), size(), algorithms::NoPipes()) {}

// What somebody still sends to this rank is taken too, for a while: he may wait for that, and this rank for him.
Mail::~Mail() {
  if (!ferrompi::Mpi::is_running()) return;
  algorithms::UnreadMessages unread;
  try {
    for (Parcel& parcel : kept_) {
      unread.add(parcel.envelope, {nullptr, parcel.bytes, true});
      fetch(parcel);
    }
    loose_.take_all_from(kept_);
    const auto begin = Clock::now();
    for (;;) {
      take_unread(unread);
      sweep();
      if (loose_.empty() || Clock::now() - begin > patience_at_the_end) break;
      (void)sched_yield();  // and nothing that this thread has under way: it may be at its end
    }
  } catch (const std::exception&) {  // MPI is on its way out, or there is no memory: there is nothing left to take
  }
  // After a failure nobody expects to have everything.
  if (gate_->broken.empty()) algorithms::warn_of_unread(*this, unread);
  leave_behind();
}

template <class Body>
decltype(auto) Mail::translated(const Transfer& transfer, Body&& body) const {
  try {
    return body();
  } catch (const ferrompi::Error& error) {
    throw_counterpart(
        {where(transfer.operation), transfer.envelope.peer, transfer.bytes / transfer.element_size, transfer.bytes},
        error);
  }
}

void Mail::require_usable(const Transfer& transfer) const {
  if (!gate_->broken.empty() || !ferrompi::Mpi::is_running()) [[unlikely]]
    refuse(*gate_, where(transfer.operation));
}

Parcel& Mail::next_parcel(const Transfer& transfer) {
  if (spare_.empty()) [[unlikely]] {
    try {
      spare_.add_new();
    } catch (const std::bad_alloc&) {
      throw AllocationFailed(where(transfer.operation), sizeof(Parcel), "there is no memory left for a message");
    }
  }
  return spare_.first();
}

void Mail::hold(Transfer& transfer, ParcelList& from, Parcel& parcel) noexcept {
  held_.take_from(from, parcel);
  transfer.attachment = std::shared_ptr<void>(std::shared_ptr<void>(), &parcel);  // which belongs to the list
}

void Mail::release(Transfer& transfer) noexcept {
  Parcel& parcel = *parcel_of(transfer);
  transfer.attachment.reset();
  parcel.request.reset();
  parcel.copy.reset();
  spare_.take_from(held_, parcel);
}

void Mail::start(Transfer& transfer) {
  const core::Exclusive exclusive(busy_, where(transfer.operation));
  begin(transfer);
}

void Mail::begin(Transfer& transfer) {
  require_usable(transfer);
  if (to_self(transfer)) return self_.start(transfer);
  sweep();
  transfer.mailbox = this;
  if (transfer.direction == Transfer::Direction::In) {
    expected_.append(transfer);
  } else {
    translated(transfer, [&] { send_off(transfer); });
  }
  transfer.state = Transfer::State::UnderWay;
}

void Mail::send_off(Transfer& transfer) {
  Parcel& parcel = next_parcel(transfer);
  std::span<const std::byte> payload(transfer.data, transfer.bytes);
  std::unique_ptr<std::byte[]> copy;
  if (patience(transfer.timeout) != forever) {
    copy = try_to_allocate(transfer.bytes);
    if (copy == nullptr) {
      throw AllocationFailed(where(transfer.operation), transfer.bytes,
                             "a message that may time out is copied before it is sent, because MPI does not give it "
                             "back; send less at once, or without a timeout");
    }
    if (transfer.bytes > 0) std::memcpy(copy.get(), transfer.data, transfer.bytes);
    payload = {copy.get(), transfer.bytes};
  }
  parcel.request.emplace(comm_.isend(payload, native_rank(transfer.envelope), native_tag(transfer.envelope)));
  parcel.copy = std::move(copy);
  parcel.envelope = transfer.envelope;
  parcel.bytes = transfer.bytes;
  parcel.number = 0;
  hold(transfer, spare_, parcel);
}

// Where this rank has nothing else to do, a message goes between MPI and its buffer, with nothing beside it.
void Mail::run(Transfer& transfer, Duration timeout) {
  const core::Exclusive exclusive(busy_, where(transfer.operation));
  transfer.timeout = timeout;
  const bool direct = !to_self(transfer) && patience(timeout) == forever && expected_.first() == nullptr &&
                      kept_.empty() && !core::has_other_work();
  if (!direct) {
    begin(transfer);
    return await(transfer, timeout);
  }
  require_usable(transfer);
  sweep();
  translated(transfer, [&] {
    if (transfer.direction == Transfer::Direction::Out) {
      send_directly(transfer);
    } else {
      receive_directly(transfer);
    }
  });
  if (transfer.state == Transfer::State::Misfit) [[unlikely]]
    throw_misfit(where(transfer.operation), transfer);
}

// Not MPI_Send, which may wait for the peer whatever the length, and tells nobody.
void Mail::send_directly(Transfer& transfer) {
  auto request = comm_.isend(std::span<const std::byte>(transfer.data, transfer.bytes), native_rank(transfer.envelope),
                             native_tag(transfer.envelope));
  wait_until(transfer, forever, [&] { return request.test().has_value(); });
  transfer.state = Transfer::State::Done;
}

void Mail::receive_directly(Transfer& transfer) {
  (void)next_parcel(transfer);
  wait_until(transfer, forever, [&] {
    auto message = comm_.improbe(native_rank(transfer.envelope), native_tag(transfer.envelope));
    if (!message) return false;
    transfer.message_bytes = message->bytes();
    if (transfer.fits(transfer.message_bytes)) [[likely]] {
      (void)message->recv(std::span(transfer.data, transfer.message_bytes));
      transfer.state = Transfer::State::Done;
    } else {
      transfer.state = Transfer::State::Misfit;
      fetch(keep(transfer.envelope, std::move(*message)));
    }
    return true;
  });
}

void Mail::finish(Transfer& transfer, Duration timeout) {
  const core::Exclusive exclusive(busy_, where(transfer.operation));
  await(transfer, timeout);
}

void Mail::await(Transfer& transfer, Duration timeout) {
  require_usable(transfer);
  if (to_self(transfer)) return self_.finish(transfer, timeout);
  sweep();
  translated(transfer, [&] {
    wait_until(transfer, patience(timeout), [&] {
      serve_others(transfer);
      return advance(transfer);
    });
  });
}

bool Mail::test(Transfer& transfer) {
  const core::Exclusive exclusive(busy_, where(transfer.operation));
  require_usable(transfer);
  if (to_self(transfer)) return self_.test(transfer);
  return translated(transfer, [&] {
    serve_others(transfer);
    return advance(transfer);
  });
}

/// MPI says neither that a peer has left nor that it is late: whoever wants to know sets a timeout.
template <class Look>
void Mail::wait_until(const Transfer& transfer, Duration timeout, Look&& is_over) const {
  for (int look = 0; look < looks_before_yielding; ++look) {
    if (is_over()) return;
  }
  const auto begin = Clock::now();
  Duration next_warning = warn_after_;
  while (!is_over()) {
    const Duration waited = Clock::now() - begin;
    if (waited >= timeout) {
      throw TimedOut(where(transfer.operation), std::chrono::duration<double>(waited).count(),
                     {transfer.envelope.peer});
    }
    if (waited >= next_warning) {
      warn_of_waiting(transfer, waited);
      next_warning *= 2;
    }
    (void)core::give_way();
  }
}

void Mail::warn_of_waiting(const Transfer& transfer, Duration waited) const {
  const bool in = transfer.direction == Transfer::Direction::In;
  core::warn(core::format("{} on rank {} of {}: waiting for {:.0f} s; {} rank {} with tag {}", transfer.operation,
                          rank(), size(), std::chrono::duration<double>(waited).count(),
                          in ? "nothing came from" : "no room for a message to", transfer.envelope.peer,
                          transfer.envelope.tag));
}

/// Gives every other receive that waits the message that has come for it: its sender may wait for that.
void Mail::serve_others(const Transfer& transfer) {
  for (Transfer* receive = expected_.first(); receive != nullptr;) {
    Transfer* const next = receive->next;  // of one that leaves the queue
    if (receive != &transfer && match_next(receive->envelope)) {
      receive = expected_.first();  // the first of its channel left, which may be any
    } else {
      receive = next;
    }
  }
}

/// Does what can be done for it; whether it is over. Done is what its owner has heard of, so a receive is under way
/// until then, also where its message has come.
bool Mail::advance(Transfer& transfer) {
  // The message of a receive is the next one that no earlier receive of its channel takes.
  while (transfer.state == Transfer::State::UnderWay && parcel_of(transfer) == nullptr) {
    if (!match_next(transfer.envelope)) return false;
  }
  if (transfer.state == Transfer::State::Misfit) throw_misfit(where(transfer.operation), transfer);
  if (transfer.state == Transfer::State::Done) return true;
  Parcel& parcel = *parcel_of(transfer);
  if (parcel.is_lost()) [[unlikely]] {
    throw InvalidCommunicator(where(transfer.operation),
                              core::format("rank {}: there was no memory to keep a message whose receive was given up",
                                           transfer.envelope.peer));
  }
  if (parcel.request && !parcel.request->test()) return false;
  if (transfer.direction == Transfer::Direction::In && parcel.copy != nullptr && parcel.bytes > 0) {
    std::memcpy(transfer.data, parcel.copy.get(), parcel.bytes);
  }
  release(transfer);
  transfer.state = Transfer::State::Done;
  return true;
}

/// Brings the first receive of a channel and its next message together. False where none has come.
bool Mail::match_next(const Envelope& envelope) {
  Transfer& receive = *expected_.find([&](const Transfer& one) { return same_channel(one.envelope, envelope); });
  Parcel* const parcel = find_message(receive);
  if (parcel == nullptr) return false;
  const bool fits = receive.fits(parcel->bytes);
  if (fits && parcel->message) {
    parcel->request.emplace(parcel->message->irecv(std::span(receive.data, parcel->bytes)));
    parcel->message.reset();
  }
  expected_.remove(receive);
  receive.message_bytes = parcel->bytes;
  if (fits) {
    hold(receive, kept_, *parcel);
  } else {
    receive.state = Transfer::State::Misfit;
    fetch(*parcel);
  }
  return true;
}

/// The next message of its channel, kept and perhaps still with MPI; null where none has come.
Parcel* Mail::find_message(const Transfer& receive) {
  if (!kept_.empty()) {
    if (Parcel* const parcel = kept_.find(receive.envelope)) return parcel;
  }
  (void)next_parcel(receive);
  auto message = comm_.improbe(native_rank(receive.envelope), native_tag(receive.envelope));
  return message ? &keep(receive.envelope, std::move(*message)) : nullptr;
}

/// Into a parcel that is there.
Parcel& Mail::keep(const Envelope& envelope, ferrompi::Message message) noexcept {
  Parcel& parcel = spare_.first();
  parcel.envelope = envelope;
  parcel.bytes = message.bytes();
  parcel.number = ++found_;
  parcel.message.emplace(std::move(message));
  kept_.take_from(spare_, parcel);
  return parcel;
}

/// Its sender shall not wait for the receive into which it fits. Without memory it does.
void Mail::fetch(Parcel& parcel) {
  if (!parcel.message) return;
  auto copy = try_to_allocate(parcel.bytes);
  if (copy == nullptr) return;
  parcel.request.emplace(parcel.message->irecv(std::span(copy.get(), parcel.bytes)));
  parcel.message.reset();
  parcel.copy = std::move(copy);
}

void Mail::abandon(Transfer& transfer) noexcept {
  expected_.remove(transfer);
  if (Parcel* const parcel = parcel_of(transfer)) {
    if (transfer.direction == Transfer::Direction::In) {
      take_back(*parcel, transfer);
    } else {
      let_go(*parcel, transfer);
    }
    transfer.attachment.reset();
  }
  transfer.state = Transfer::State::New;
}

void Mail::take_back(Parcel& parcel, const Transfer& receive) noexcept {
  if (parcel.request && parcel.copy == nullptr) {
    // MPI writes into the buffer, which is about to go.
    auto copy = try_to_allocate(parcel.bytes);
    try {
      while (!parcel.request->test()) (void)core::give_way();
      if (copy != nullptr && parcel.bytes > 0) std::memcpy(copy.get(), receive.data, parcel.bytes);
    } catch (const std::exception&) {  // MPI failed, or is at its end
      copy.reset();
    }
    parcel.request.reset();
    parcel.copy = std::move(copy);
    if (parcel.is_lost()) algorithms::warn_of_losing(*this, receive);
  }
  kept_.take_in_order_from(held_, parcel);
}

void Mail::let_go(Parcel& parcel, Transfer& send) noexcept {
  using OnDrop = Transfer::OnDrop;
  const bool may_stay = parcel.copy != nullptr || parcel.bytes == 0;  // with MPI, when its buffer is gone
  if (!may_stay && send.on_drop != OnDrop::Complete) {
    // An exception makes it go. A request of MPI that one destroys waits for a moment, and then ends the job.
    parcel.request.reset();
  } else if (send.on_drop == OnDrop::GiveUp || !send_out(send)) {
    if (send.on_drop != OnDrop::GiveUp) tell_of_giving_up(send, may_stay);
    if (!may_stay) comm_.abort(EXIT_FAILURE);
    return loose_.take_from(held_, parcel);
  }
  if (parcel_of(send) != nullptr) release(send);
}

/// For who does not wait for it any more; whether MPI is done with it. Where the communicator failed, or an exception
/// passes through, its peer may never come.
bool Mail::send_out(Transfer& send) noexcept {
  const bool in_haste = send.on_drop == Transfer::OnDrop::CompleteSoon || !gate_->broken.empty();
  try {
    wait_until(send, in_haste ? std::min<Duration>(timeout_, core::grace_while_unwinding) : timeout_, [&] {
      serve_others(send);
      return advance(send);
    });
    return true;
  } catch (const std::exception&) {  // it is late, or MPI failed; there is nobody to tell
    const Parcel* const parcel = parcel_of(send);
    return parcel == nullptr || parcel->request->is_complete();
  }
}

void Mail::tell_of_giving_up(const Transfer& send, bool goes_on) const noexcept try {
  algorithms::warn_of_giving_up(*this, send,
                                goes_on ? "it is given up, and may still arrive"
                                        : "MPI does not give it back, and its buffer is about to go, so the job is "
                                          "ended");
} catch (const std::exception&) {
  core::warn("a message is given up");  // no memory for the details
}

/// Lets those go that MPI is done with.
void Mail::sweep() noexcept {
  for (auto one = loose_.begin(); one != loose_.end();) {
    Parcel& parcel = *one++;
    try {
      if (parcel.request && !parcel.request->test()) continue;
    } catch (const std::exception&) {  // it is over by that, and nobody asks how
    }
    parcel.request.reset();
    parcel.message.reset();
    parcel.copy.reset();
    spare_.take_from(loose_, parcel);
  }
}

void Mail::take_unread(algorithms::UnreadMessages& unread) {
  // Asked first without taking anything: SimGrid knows no matched probe, and ends programs that try one.
  while (comm_.iprobe(ferrompi::any_source, ferrompi::any_tag)) {
    if (spare_.empty()) spare_.add_new();
    auto message = comm_.improbe(ferrompi::any_source, ferrompi::any_tag);
    if (!message) return;
    const Envelope envelope = envelope_of(*message);
    unread.add(envelope, {nullptr, message->bytes(), true});
    Parcel& parcel = keep(envelope, std::move(*message));
    fetch(parcel);  // without memory the message itself throws its bytes away, or stays where it is
    loose_.take_from(kept_, parcel);
    sweep();
  }
}

/// What MPI still moves keeps its memory: neither can be had back.
void Mail::leave_behind() noexcept {
  std::size_t sends = 0;
  const Parcel* first = nullptr;
  for (const Parcel& parcel : loose_) {
    if (parcel.number == 0 && sends++ == 0) first = &parcel;
  }
  if (first != nullptr) tell_of_leaving_behind(*first, sends);
  static struct Behind {
    union {
      ParcelList parcels;
    };
    Behind() noexcept : parcels() {}
    Behind(const Behind&) = delete;
    Behind& operator=(const Behind&) = delete;
    ~Behind() {}  // never: MPI may still read and write there
    std::mutex mutex;
  } behind;
  const std::lock_guard lock(behind.mutex);
  behind.parcels.take_all_from(loose_);
}

void Mail::tell_of_leaving_behind(const Parcel& first, std::size_t messages) const noexcept try {
  core::warn(
      core::format("rank {} of {} ends although {} message{} that it gave up {} not been taken, the first by rank {} "
                   "with tag {} ({} "
                   "bytes); receive every message that is sent",
                   rank(), size(), messages, messages == 1 ? "" : "s", messages == 1 ? "has" : "have",
                   first.envelope.peer, first.envelope.tag, first.bytes));
} catch (const std::exception&) {
  core::warn("a rank ends although messages that it gave up have not been taken");  // no memory for the details
}

}  // namespace cobre::comm::mpi
