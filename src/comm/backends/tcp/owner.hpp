// Who is at the other end of a connection inside of this machine.
#pragma once

#include <sys/types.h>

#include <optional>

namespace cobre::comm::tcp {

/// The user whose socket it is, as the kernel's own table says; nothing where the other end is not in there, because it
/// is on another machine or closed.
[[nodiscard]] std::optional<uid_t> owner_of_other_end(int socket);

}  // namespace cobre::comm::tcp
