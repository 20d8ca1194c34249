#include "comm/backends/mpi/mail.hpp"

#include <ferrompi/constants.hpp>
#include <ferrompi/message.hpp>

#include <sched.h>

#include <cstring>
#include <utility>

#include "comm/backends/mpi/errors.hpp"

namespace cobre::comm::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using detail::Envelope;
using detail::Realm;

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

std::span<std::byte> bytes_of(const detail::Transfer& transfer, std::size_t count) noexcept {
  return {transfer.data, count};
}

/// What a transfer carries while MPI works on it.
struct InMpi {
  ferrompi::Request request;
  std::shared_ptr<std::vector<std::byte>> copy;  // of what is sent, where the caller may give up
};
InMpi* in_mpi(const detail::Transfer& transfer) noexcept {
  return static_cast<InMpi*>(transfer.attachment.get());
}

}  // namespace

Mail::Mail(std::shared_ptr<ferrompi::Mpi> mpi, const ferrompi::Communicator& world)
    : Mailbox(static_cast<std::size_t>(world.rank()), static_cast<std::size_t>(world.size()), largest_native_tag()),
      mpi_(std::move(mpi)),
      comm_(world.duplicate()),
      self_(rank(), size(), algorithms::NoPipes()) {}

Mail::~Mail() {
  if (!ferrompi::Mpi::is_running()) return;
  try {
    // Asked first without taking anything: SimGrid knows no matched probe, and ends programs that try one.
    while (comm_.iprobe(ferrompi::any_source, ferrompi::any_tag)) {
      const auto message = comm_.improbe(ferrompi::any_source, ferrompi::any_tag);
      if (!message) break;
      kept_.add(envelope_of(*message), {nullptr, message->bytes(), true});  // the message itself throws its bytes away
    }
  } catch (const std::exception&) {  // MPI is on its way out: there is nothing left to take
  }
  algorithms::warn_of_unread(*this, kept_);
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
  if (!ferrompi::Mpi::is_running()) [[unlikely]] {
    throw InvalidCommunicator(where(transfer.operation), "MPI was finalized");
  }
}

void Mail::start(Transfer& transfer) {
  require_usable(transfer);
  if (to_self(transfer)) return self_.start(transfer);
  transfer.mailbox = this;
  if (transfer.direction == Transfer::Direction::In) {
    expected_.append(transfer);
  } else {
    translated(transfer, [&] {
      auto sending = std::make_shared<InMpi>();
      auto payload = bytes_of(transfer, transfer.bytes);
      if (transfer.on_drop == Transfer::OnDrop::GiveUp) {
        sending->copy = std::make_shared<std::vector<std::byte>>(payload.begin(), payload.end());
        payload = *sending->copy;
      }
      sending->request = comm_.isend(payload, native_rank(transfer.envelope), native_tag(transfer.envelope));
      transfer.attachment = std::move(sending);
    });
  }
  transfer.state = Transfer::State::UnderWay;
}

// Where nobody else has to be served meanwhile it is what MPI does, with nothing beside it.
void Mail::run(Transfer& transfer, std::chrono::nanoseconds timeout) {
  const bool alone = timeout == detail::as_configured && expected_.first() == nullptr && !to_self(transfer);
  const bool in = transfer.direction == Transfer::Direction::In;
  if (!alone || (in && kept_.find(transfer.envelope) != nullptr)) return Mailbox::run(transfer, timeout);
  require_usable(transfer);
  translated(transfer, [&] {
    const int peer = native_rank(transfer.envelope);
    const int tag = native_tag(transfer.envelope);
    if (!in) return comm_.send(bytes_of(transfer, transfer.bytes), peer, tag);
    ferrompi::Message message = comm_.mprobe(peer, tag);
    transfer.message_bytes = message.bytes();
    if (!transfer.fits(transfer.message_bytes)) [[unlikely]]
      return keep(transfer, std::move(message));
    (void)message.recv(bytes_of(transfer, transfer.message_bytes));
  });
  if (transfer.state == Transfer::State::Misfit) [[unlikely]]
    throw_misfit(where(transfer.operation), transfer);
  transfer.state = Transfer::State::Done;
}

void Mail::finish(Transfer& transfer, std::chrono::nanoseconds timeout) {
  if (to_self(transfer)) return self_.finish(transfer, timeout);
  require_usable(transfer);
  translated(transfer, [&] {
    const bool forever = timeout == detail::as_configured;
    const auto begin = Clock::now();
    for (;;) {
      // Alone it may wait inside of MPI. Otherwise a peer may be waiting for another receive that was posted here.
      serve_others(transfer);
      if (advance(transfer, forever && !others_expected(transfer) ? Wait::Yes : Wait::No)) return;
      const auto waited = Clock::now() - begin;
      if (!forever && waited >= timeout) {
        throw TimedOut(where(transfer.operation), std::chrono::duration<double>(waited).count(),
                       {transfer.envelope.peer});
      }
      (void)sched_yield();
    }
  });
}

bool Mail::test(Transfer& transfer) {
  if (to_self(transfer)) return self_.test(transfer);
  require_usable(transfer);
  return translated(transfer, [&] { return advance(transfer, Wait::No); });
}

bool Mail::others_expected(const Transfer& transfer) const noexcept {
  return expected_.find([&](const Transfer& one) { return &one != &transfer; }) != nullptr;
}

/// Gives every other receive that waits the message that has come for it.
void Mail::serve_others(const Transfer& transfer) {
  for (Transfer* receive = expected_.first(); receive != nullptr;) {
    Transfer* const next = receive->next;  // of one that leaves the queue
    if (receive != &transfer && match_next(receive->envelope, Wait::No)) {
      receive = expected_.first();  // the first of its channel left, which may be any
    } else {
      receive = next;
    }
  }
}

/// Does what can be done for it; whether it is over.
bool Mail::advance(Transfer& transfer, Wait wait) {
  // The message of a receive is the next one that no earlier receive of its channel takes.
  while (transfer.state == Transfer::State::UnderWay && transfer.attachment == nullptr) {
    if (!match_next(transfer.envelope, wait)) return false;
  }
  if (transfer.state == Transfer::State::Misfit) throw_misfit(where(transfer.operation), transfer);
  if (transfer.state == Transfer::State::Done) return true;
  ferrompi::Request& request = in_mpi(transfer)->request;
  if (wait == Wait::Yes) {
    request.wait();
  } else if (!request.test()) {
    return false;
  }
  transfer.attachment.reset();
  transfer.state = Transfer::State::Done;
  return true;
}

/// Brings the first receive of a channel and its next message together. False where none has come.
bool Mail::match_next(const Envelope& envelope, Wait wait) {
  Transfer& receive = *expected_.find([&](const Transfer& one) {
    return one.envelope.peer == envelope.peer && one.envelope.tag == envelope.tag &&
           one.envelope.realm == envelope.realm;
  });
  if (auto* const queue = kept_.find(envelope)) {
    const algorithms::Unread& message = queue->front();
    expected_.remove(receive);
    receive.message_bytes = message.bytes;
    if (!receive.fits(message.bytes)) {
      receive.state = Transfer::State::Misfit;
      return true;
    }
    if (message.bytes > 0) std::memcpy(receive.data, message.data.get(), message.bytes);
    receive.state = Transfer::State::Done;
    kept_.remove_first(envelope);
    return true;
  }
  if (wait == Wait::Yes) {
    take(receive, comm_.mprobe(native_rank(envelope), native_tag(envelope)));
    return true;
  }
  auto message = comm_.improbe(native_rank(envelope), native_tag(envelope));
  if (!message) return false;
  take(receive, std::move(*message));
  return true;
}

void Mail::take(Transfer& receive, ferrompi::Message message) {
  expected_.remove(receive);
  receive.message_bytes = message.bytes();
  if (receive.fits(message.bytes())) {
    auto receiving = std::make_shared<InMpi>();
    receiving->request = message.irecv(bytes_of(receive, message.bytes()));
    receive.attachment = std::move(receiving);
    return;
  }
  keep(receive, std::move(message));
}

/// For the next receive: it does not fit into this one.
void Mail::keep(Transfer& receive, ferrompi::Message message) {
  receive.state = Transfer::State::Misfit;
  algorithms::Unread unread{std::unique_ptr<std::byte[]>(new std::byte[message.bytes()]), message.bytes(), true};
  (void)message.recv(std::span(unread.data.get(), unread.bytes));
  kept_.add(receive.envelope, std::move(unread));
}

void Mail::give_up_send(Transfer& transfer) {
  if (transfer.on_drop == Transfer::OnDrop::CompleteSoon) return;  // what a request of MPI does by itself: see below
  if (transfer.on_drop == Transfer::OnDrop::Complete) return finish(transfer, detail::as_configured);
  auto* const sending = in_mpi(transfer);
  orphans_.push_back({std::move(sending->copy), std::move(sending->request)});
}

void Mail::abandon(Transfer& transfer) noexcept {
  try {
    if (transfer.direction == Transfer::Direction::Out) {
      give_up_send(transfer);
    } else if (transfer.attachment != nullptr) {
      // MPI writes into the buffer already. What it has written goes back to the front of the channel.
      in_mpi(transfer)->request.wait();
      const std::size_t bytes = transfer.message_bytes;
      algorithms::Unread unread{std::unique_ptr<std::byte[]>(new std::byte[bytes]), bytes, true};
      if (bytes > 0) std::memcpy(unread.data.get(), transfer.data, bytes);
      kept_.add_first(transfer.envelope, std::move(unread));
    }
  } catch (const std::exception&) {  // of a failing MPI, or no memory: nobody is there to be told
  }
  expected_.remove(transfer);
  // A send that an exception makes go is waited for no longer than a moment. MPI cannot take it back and the buffer is
  // about to go, so that the job is ended then.
  transfer.attachment.reset();
  transfer.state = Transfer::State::New;
}

}  // namespace cobre::comm::mpi
