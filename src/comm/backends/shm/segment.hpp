// How large the segment is and what stands where in it.
#pragma once

#include <cobre/comm/shm.hpp>

#include <cstddef>

#include "comm/backends/shm/layout.hpp"

namespace cobre::comm::shm {

/// Less is not enough for so many ranks.
[[nodiscard]] std::size_t smallest_segment(std::size_t ranks) noexcept;

/// What rank 0 decides, by its configuration and the number of ranks.
[[nodiscard]] Agreement plan_segment(const ShmConfig& config, std::size_t cpus, bool asymmetric_fences);

}  // namespace cobre::comm::shm
