// Who runs where, as found out once when the communicator was made.
#pragma once

#include <cobre/comm/backend_kind.hpp>

#include <algorithm>
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

/// Where one rank may run.
struct RankPlacement {
  std::size_t cpus = 0;                // that its affinity and its container allow; 0 where that is not known
  std::size_t sharers = 1;             // ranks of its host that may run on the very same CPUs, itself included
  std::vector<unsigned> numa_domains;  // that it may run on, ascending, numbered by its host; empty where not known

  [[nodiscard]] bool spans_domains() const noexcept { return numa_domains.size() > 1; }

  friend bool operator==(const RankPlacement&, const RankPlacement&) = default;
};

struct ExecutionTopology {
  BackendKind backend = BackendKind::Local;
  std::size_t world_size = 1;
  std::vector<HostInfo> hosts;  // by first rank
  std::optional<MpiRuntimeInfo> mpi;
  std::optional<SlurmJobInfo> slurm;
  std::vector<RankPlacement> placements = {};  // by rank

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

  /// The place of the rank's host in `hosts`; num_hosts() where no host has it.
  [[nodiscard]] std::size_t host_index_of(std::size_t rank) const noexcept {
    std::size_t index = 0;
    while (index < hosts.size() && std::ranges::find(hosts[index].ranks, rank) == hosts[index].ranks.end()) ++index;
    return index;
  }

  /// The NUMA domain of a rank that may run on one only.
  [[nodiscard]] std::optional<unsigned> numa_domain_of(std::size_t rank) const {
    if (rank >= placements.size() || placements[rank].numa_domains.size() != 1) return std::nullopt;
    return placements[rank].numa_domains.front();
  }

  /// Ranks that may run on more than one NUMA domain: half of what they touch may be far away.
  [[nodiscard]] std::vector<std::size_t> ranks_that_span_domains() const {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < placements.size(); ++rank) {
      if (placements[rank].spans_domains()) ranks.push_back(rank);
    }
    return ranks;
  }

  /// How many threads the rank should run: what Slurm was asked for (--cpus-per-task), or its share of the CPUs that
  /// it may use. At least 1.
  [[nodiscard]] std::size_t recommended_threads(std::size_t rank) const noexcept {
    if (const std::size_t asked = slurm ? slurm->cpus_per_task.value_or(0) : 0; asked > 0) return asked;
    if (rank >= placements.size()) return 1;
    return std::max<std::size_t>(1, placements[rank].cpus / std::max<std::size_t>(1, placements[rank].sharers));
  }

  friend bool operator==(const ExecutionTopology&, const ExecutionTopology&) = default;
};

}  // namespace cobre::comm
