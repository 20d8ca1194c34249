// Whether and how a process ended that is not our child.
#pragma once

#include <sys/types.h>

#include <optional>

namespace cobre::comm::shm {

[[nodiscard]] bool has_ended(int pidfd) noexcept;

/// As waitpid would give it to the parent; nothing where the kernel does not tell it to us any more. Also of one that
/// has let its descriptors go and is still about to end, which with a parent in a hurry is the only time before 6.15.
[[nodiscard]] std::optional<int> status_of_ended(int pidfd, pid_t pid);

}  // namespace cobre::comm::shm
