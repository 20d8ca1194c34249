// What is said of messages that a rank gives up, whatever carries them.
#pragma once

#include <cobre/comm/detail/mailbox.hpp>

#include <string_view>

namespace cobre::comm::algorithms {

/// A receive whose message came and cannot be kept: it was in the buffer that is gone.
void warn_of_losing(const detail::Mailbox& mailbox, const detail::Transfer& transfer) noexcept;

/// A send whose request was dropped. `consequence` ends the line.
void warn_of_giving_up(const detail::Mailbox& mailbox, const detail::Transfer& transfer, std::string_view consequence);

}  // namespace cobre::comm::algorithms
