// How the ranks of a group find each other: rank 0 listens under a name that exists nowhere but in the kernel, the
// others come, and leave with the segment and a descriptor of every process.
#pragma once

#include <cobre/comm/shm.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "comm/backends/shm/memory.hpp"
#include "comm/backends/shm/peers.hpp"
#include "comm/core/descriptor.hpp"

namespace cobre::comm::shm {

struct Gathering {
  Mapping segment;
  Peers peers;
  // Kept for handing over memory files later: on rank 0 one for each rank (its own is empty), elsewhere one, to rank 0.
  std::vector<core::Descriptor> links;
};

/// For ranks that know each other already: throws where one of them is known to be gone, so that nobody waits for it.
/// Asked again and again.
using Check = std::function<void()>;

/// Collective. Throws InitializationFailed, AllocationFailed (for the segment, on every rank) or PeerFailed.
[[nodiscard]] Gathering gather_group(const ShmConfig& config, const Check& check = {});

// The two sides, and what both need.
[[nodiscard]] Gathering coordinate(const ShmConfig& config, const Check& check);
[[nodiscard]] Gathering join(const ShmConfig& config, const Check& check);

/// The socket's abstract name: this user and a hash of the group's name.
[[nodiscard]] std::string socket_name(const std::string& group);
[[nodiscard]] std::uint64_t name_check(const std::string& group);
[[nodiscard]] core::Descriptor open_socket();
/// The user behind a connected socket.
struct Owner {
  unsigned uid;
  int pid;
};
[[nodiscard]] Owner owner_of(const core::Descriptor& socket);
/// Binds or connects; the errno of a failure.
[[nodiscard]] int bind_to(const core::Descriptor& socket, const std::string& name);
[[nodiscard]] int connect_to(const core::Descriptor& socket, const std::string& name);
[[noreturn]] void throw_foreign_owner(const std::string& group, unsigned uid);

}  // namespace cobre::comm::shm
