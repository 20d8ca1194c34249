// How large the segment is and what stands where in it.
#pragma once

#include <cobre/comm/shm.hpp>

#include <cstddef>
#include <span>

#include "comm/backends/shm/layout.hpp"

namespace cobre::comm::shm {

/// Less is not enough for so many ranks.
[[nodiscard]] std::size_t smallest_segment(std::size_t ranks) noexcept;

/// What rank 0 decides, by its configuration and the number of ranks.
[[nodiscard]] Agreement plan_segment(const ShmConfig& config, std::size_t cpus, bool asymmetric_fences);

/// Whether a segment that came from elsewhere begins with such a decision, and holds all that follows from it.
[[nodiscard]] bool is_laid_out(std::span<const std::byte> segment, std::size_t ranks) noexcept;

}  // namespace cobre::comm::shm
