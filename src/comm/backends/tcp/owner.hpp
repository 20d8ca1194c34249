// Who is at the other end of a connection inside of this machine.
#pragma once

#include <sys/types.h>

#include <optional>

#include "comm/backends/tcp/address.hpp"

namespace cobre::comm::tcp {

/// The user whose socket it is, as the kernel's own table says; nothing where the other end is not in there, because it
/// is on another machine or closed.
[[nodiscard]] std::optional<uid_t> owner_of_other_end(int socket);

/// The same for the socket at `near` that is connected with `far`, out of the tables that every kernel shows: slower
/// the more connections there are.
[[nodiscard]] std::optional<uid_t> owner_in_tables(const Address& near, const Address& far);

}  // namespace cobre::comm::tcp
