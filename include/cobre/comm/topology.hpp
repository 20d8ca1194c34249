// Who runs where, as found out once when the communicator was made.
#pragma once

#include <cobre/comm/backend_kind.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cobre::comm {

struct HostInfo {
  std::string hostname;
  std::vector<std::size_t> ranks;  // ascending

  friend bool operator==(const HostInfo&, const HostInfo&) = default;
};

struct MpiRuntimeInfo {
  std::string library_version;   // "Open MPI v4.1.4", "MPICH 4.0.2"
  std::string standard_version;  // "MPI 3.1"
  std::string thread_level;      // "Multiple"

  friend bool operator==(const MpiRuntimeInfo&, const MpiRuntimeInfo&) = default;
};

struct SlurmJobInfo {
  std::string job_id;
  std::optional<std::string> node_list;
  std::optional<unsigned> cpus_per_task;

  friend bool operator==(const SlurmJobInfo&, const SlurmJobInfo&) = default;
};

struct ExecutionTopology {
  BackendKind backend = BackendKind::Local;
  std::size_t world_size = 1;
  std::vector<HostInfo> hosts;  // by first rank
  std::optional<MpiRuntimeInfo> mpi;
  std::optional<SlurmJobInfo> slurm;

  [[nodiscard]] std::size_t num_hosts() const noexcept { return hosts.size(); }

  /// Whether every host has equally many ranks.
  [[nodiscard]] bool is_homogeneous() const noexcept {
    for (const HostInfo& host : hosts) {
      if (host.ranks.size() != hosts.front().ranks.size()) return false;
    }
    return true;
  }

  /// The host of rank 0, or "unknown" where nothing is known of any host.
  [[nodiscard]] std::string leader_hostname() const { return hosts.empty() ? "unknown" : hosts.front().hostname; }

  friend bool operator==(const ExecutionTopology&, const ExecutionTopology&) = default;
};

}  // namespace cobre::comm
