// This host and this job.
#pragma once

#include <cobre/comm/topology.hpp>

#include <optional>
#include <string>

namespace cobre::comm::topology {

/// The name that the kernel knows this host by; "localhost" where it has none.
std::string host_name();

/// The Slurm job that this process belongs to, if any.
std::optional<SlurmJobInfo> slurm_job();

}  // namespace cobre::comm::topology
