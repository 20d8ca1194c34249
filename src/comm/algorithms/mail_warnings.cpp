#include "comm/algorithms/mail_warnings.hpp"

#include <exception>

#include "comm/core/format.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::algorithms {

void warn_of_losing(const detail::Mailbox& mailbox, const detail::Transfer& transfer) noexcept try {
  core::warn(
      core::format("{} on rank {} of {}: its receive was given up, and there is no memory to keep the message of {} "
                   "bytes from rank {} with tag {}; nothing more can be received from there",
                   transfer.operation, mailbox.rank(), mailbox.size(), transfer.message_bytes, transfer.envelope.peer,
                   transfer.envelope.tag));
} catch (const std::exception&) {
  core::warn("a message is lost: its receive was given up, and there was no memory to keep it");
}

void warn_of_giving_up(const detail::Mailbox& mailbox, const detail::Transfer& transfer, std::string_view consequence) {
  const bool in_haste = transfer.on_drop == detail::Transfer::OnDrop::CompleteSoon;
  core::warn(core::format("{} on rank {} of {}: rank {} did not take a message of {} bytes with tag {} in time{}; {}",
                          transfer.operation, mailbox.rank(), mailbox.size(), transfer.envelope.peer, transfer.bytes,
                          transfer.envelope.tag, in_haste ? ", and an exception drops its request" : "", consequence));
}

}  // namespace cobre::comm::algorithms
