#include <cobre/comm/detail/mail_request.hpp>
#include <cobre/comm/detail/mailbox.hpp>

#include <algorithm>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::detail {

void throw_invalid_peer(Where where, std::size_t peer) {
  throw InvalidPeer(where, peer);
}

void throw_invalid_tag(Where where, std::int64_t tag, std::int64_t largest) {
  throw InvalidTag(where, tag, largest);
}

void throw_channel_moved_from(const char* operation) {
  throw InvalidCommunicator({operation, 0, 1}, "the channel was moved from; use the one that it was moved to");
}

void throw_no_mail_to_get() {
  throw InvalidOperation({"get", 0, 1}, "the container was handed out already, or moved along with its request");
}

// Where the send has to be waited for, what is left of the time is the receive's. The clock is not read without a
// timeout.
void Mailbox::exchange(Transfer& sending, Transfer& receiving, std::chrono::nanoseconds timeout) {
  using Clock = std::chrono::steady_clock;
  sending.timeout = timeout;
  const auto patience = timeout == as_configured ? configured_timeout() : timeout;
  const auto begin = patience == for_ever ? Clock::time_point() : Clock::now();
  const auto left = [&] {
    return patience == for_ever
               ? for_ever
               : std::max<std::chrono::nanoseconds>(patience - (Clock::now() - begin), std::chrono::nanoseconds(0));
  };
  start(receiving);
  start(sending);
  try {
    finish(sending, left());
    finish(receiving, left());
  } catch (const TimedOut& error) {
    const std::chrono::duration<double> waited = Clock::now() - begin;  // for either, and not for the last one alone
    throw TimedOut(where(sending.operation), waited.count(), error.missing_ranks());
  }
}

void Mailbox::throw_misfit(const Where& where, const Transfer& transfer) {
  const auto& [peer, tag, realm] = transfer.envelope;
  const std::size_t size = transfer.element_size;
  const std::size_t room = transfer.bytes / size;
  if (transfer.message_bytes % size != 0) {
    throw InvalidBufferSize(where, transfer.message_bytes, transfer.bytes,
                            core::format("the next message from rank {} with tag {} has {} bytes, which are no whole "
                                         "elements of {} bytes; receive it as the type that was sent. It stays the "
                                         "next message",
                                         peer, tag, transfer.message_bytes, size));
  }
  const std::size_t count = transfer.message_bytes / size;
  throw InvalidBufferSize(
      where, count, room,
      core::format("the next message from rank {} with tag {} has {}, but the buffer has {}; pass "
                   "one that fits{}. It stays the next message",
                   peer, tag, core::elements(count), core::elements(room), count < room ? ", or use recv_some" : ""));
}

void Mailbox::throw_nothing_from_self(const Where& where, const Transfer& transfer) {
  throw InvalidOperation(where, core::format("this rank waits for a message from itself with tag {}, and has not sent "
                                             "one; send first",
                                             transfer.envelope.tag));
}

}  // namespace cobre::comm::detail
