#include "comm/topology/placement.hpp"

#include <cobre/comm/detail/operation.hpp>

#include <algorithm>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "comm/core/waiting_cpus.hpp"
#include "comm/core/warnings.hpp"
#include "comm/topology/host.hpp"
#include "comm/topology/machine.hpp"

namespace cobre::comm::topology {

PlacementRecord placement_here() {
  PlacementRecord record;
  record.host = host_identity();
  const core::CpuMask cpus = core::allowed_cpus();
  record.cpus = static_cast<std::uint32_t>(std::min(core::count(cpus), core::cpu_quota()));
  for (const std::uint64_t word : cpus) record.cpu_set = detail::mix(record.cpu_set ^ word);
  for (const NumaDomain& domain : numa_domains()) {
    if (domain.index / 64 < record.domains.size() && overlap(domain.cpus, cpus)) {
      record.domains[domain.index / 64] |= std::uint64_t{1} << (domain.index % 64);
    }
  }
  return record;
}

std::vector<RankPlacement> placements_of(std::span<const PlacementRecord> records) {
  std::vector<RankPlacement> placements(records.size());
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    const PlacementRecord& record = records[rank];
    placements[rank].cpus = record.cpus;
    placements[rank].sharers = static_cast<std::size_t>(std::ranges::count_if(
        records, [&](const auto& other) { return other.host == record.host && other.cpu_set == record.cpu_set; }));
    for (unsigned domain = 0; domain < 64 * record.domains.size(); ++domain) {
      if ((record.domains[domain / 64] >> (domain % 64) & 1) != 0) placements[rank].numa_domains.push_back(domain);
    }
  }
  return placements;
}

std::vector<HostInfo> hosts_of(std::span<const std::string> names, std::span<const PlacementRecord> records) {
  std::vector<HostInfo> hosts;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto host = std::ranges::find_if(hosts, [&](const HostInfo& known) {
      const std::size_t first = known.ranks.front();
      return known.hostname == names[rank] && records[first].host == records[rank].host;
    });
    if (host != hosts.end()) {
      host->ranks.push_back(rank);
    } else {
      hosts.push_back({names[rank], {rank}});
    }
  }
  return hosts;
}

void warn_of_spanning(const ExecutionTopology& topology) {
  const auto ranks = topology.ranks_that_span_domains();
  if (topology.world_size == 1 || ranks.empty()) return;
  core::warn(
      core::format("{} may run on several NUMA domains ({} on {} of them): memory may be far away; bind each rank "
                   "to one, with cobre-comm run --bind numa, mpirun --bind-to numa or srun --cpu-bind=ldoms",
                   core::rank_list(ranks), ranks.front(), topology.placements[ranks.front()].numa_domains.size()));
}

}  // namespace cobre::comm::topology
