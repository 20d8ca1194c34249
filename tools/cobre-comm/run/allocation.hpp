// The nodes that Slurm gave to the job that we run in.
#pragma once

#include <string>
#include <vector>

#include "hosts.hpp"

namespace cobre::command {

/// Whether this is a Slurm job of several nodes, of which we are not a task ourselves.
[[nodiscard]] bool in_allocation_of_several_nodes();

/// Its nodes, and the tasks that were asked for on each. Throws UsageError where Slurm does not tell.
[[nodiscard]] std::vector<HostShare> allocated_hosts();

/// What starts one process on one of them, in front of its command. The process may use all that the job has there.
[[nodiscard]] std::vector<std::string> step_on(const std::string& node);

}  // namespace cobre::command
