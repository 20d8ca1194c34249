#include <cobre/comm/resources.hpp>

#include <cobre/comm/base/slurm.hpp>

#include <algorithm>

#include "comm/core/memory_limits.hpp"

namespace cobre::comm {

std::uint64_t node_memory_budget() {
  const std::uint64_t available = core::available_memory().bytes;
  return std::min(available, slurm::memory_on_node_bytes().value_or(available));
}

}  // namespace cobre::comm
