// The topology of some of the ranks.
#pragma once

#include <cobre/comm/topology.hpp>

#include <cstddef>
#include <span>

namespace cobre::comm::topology {

/// `members` are ranks of `whole` and become ranks 0, 1, … in their order. Who shares whose CPUs stays what it is: the
/// ranks that are left out compute all the same.
[[nodiscard]] ExecutionTopology part_of(const ExecutionTopology& whole, std::span<const std::size_t> members);

}  // namespace cobre::comm::topology
