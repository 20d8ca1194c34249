// Where the ranks may run: what each of them finds out about itself, and the picture of all.
#pragma once

#include <cobre/comm/topology.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cobre::comm::topology {

/// What a rank tells the others when a communicator is made. Fits into one post of the shm backend.
struct PlacementRecord {
  std::uint64_t host = 0;                  // host_identity()
  std::array<std::uint64_t, 2> domains{};  // one bit each
  std::uint64_t cpu_set = 0;               // equal for equal sets of CPUs
  std::uint32_t cpus = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(PlacementRecord) == 40);

/// Of the thread that asks.
[[nodiscard]] PlacementRecord placement_here();

/// One record a rank, in their order.
[[nodiscard]] std::vector<RankPlacement> placements_of(std::span<const PlacementRecord> records);

/// Hosts in the order of their first ranks. Two ranks share a host where name and identity are the same.
[[nodiscard]] std::vector<HostInfo> hosts_of(std::span<const std::string> names,
                                             std::span<const PlacementRecord> records);

/// One line where ranks may run on several NUMA domains. A rank that is alone is not there to be placed.
void warn_of_spanning(const ExecutionTopology& topology);

}  // namespace cobre::comm::topology
