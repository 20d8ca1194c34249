// This host and this job.
#pragma once

#include <cobre/comm/topology.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace cobre::comm::topology {

/// The name that the kernel knows this host by; "localhost" where it has none.
std::string host_name();

/// Tells this host from every other one, also from one that has the same name: the kernel that runs, and the name.
/// Containers with names of their own are hosts of their own.
std::uint64_t host_identity();

/// The Slurm job that this process belongs to, if any.
std::optional<SlurmJobInfo> slurm_job();

}  // namespace cobre::comm::topology
