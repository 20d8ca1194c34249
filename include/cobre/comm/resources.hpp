// What a job may use of the node that it runs on.
#pragma once

#include <cstdint>

namespace cobre::comm {

/// Bytes that the ranks of this node may use together: what Slurm gave the job here (SLURM_MEM_PER_NODE, or
/// SLURM_MEM_PER_CPU for each CPU), but no more than the machine has free and the container allows. A rank's share is
/// this divided by the ranks of its host: `topology().hosts[topology().host_index_of(rank)].ranks.size()`.
[[nodiscard]] std::uint64_t node_memory_budget();

}  // namespace cobre::comm
