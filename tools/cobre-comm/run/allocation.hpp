// The nodes that Slurm gave to the job that we run in.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hosts.hpp"

namespace cobre::command {

/// Whether this is a Slurm job, of which we are not a task ourselves, with a node that is not this machine: it has
/// several, or one that is held from here (salloc on a submit host).
[[nodiscard]] bool in_allocation_elsewhere();

/// Cores that a job of one node holds there. Where Slurm did not start us, but we hold the job from that node (salloc),
/// nothing else keeps us from using all of it.
[[nodiscard]] std::optional<std::size_t> allocated_cores();

/// Its nodes, and the tasks that were asked for on each; or so many ranks, evenly, where that is more. Throws
/// UsageError where Slurm does not tell.
[[nodiscard]] std::vector<HostShare> allocated_hosts(std::optional<std::size_t> ranks);

/// What starts one process on one of them, in front of its command. The process may use all that the job has there.
[[nodiscard]] std::vector<std::string> step_on(const std::string& node);

}  // namespace cobre::command
