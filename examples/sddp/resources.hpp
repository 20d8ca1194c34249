// What this rank may use: Slurm says it in the environment, and nobody has to repeat it.
#pragma once

#include <cobre/comm/base/slurm.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include "case.hpp"

namespace sddp {

/// The threads that were asked for; without a wish, the CPUs that Slurm gives a task; without Slurm, one.
[[nodiscard]] inline int threads_of_rank(int wish) {
  return wish > 0 ? wish : std::max(1, cobre::comm::slurm::cpus_per_task().value_or(1));
}

/// Throws InputError where the shared tables would not fit: now, and not when the job is killed hours later.
inline void check_memory(std::uint64_t needed) {
  const auto budget = cobre::comm::slurm::memory_on_node_bytes();
  if (!budget || needed <= *budget) return;
  throw InputError("the cuts need " + std::to_string(needed >> 20) + " MB on each node and Slurm grants " +
                   std::to_string(*budget >> 20) +
                   " MB: ask for more with --mem, or for fewer iterations or scenarios");
}

}  // namespace sddp
