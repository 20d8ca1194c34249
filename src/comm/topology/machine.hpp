// The processors and the memory of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/core/waiting_cpus.hpp"

namespace cobre::comm::topology {

struct NumaDomain {
  unsigned index = 0;  // as the kernel counts them
  core::CpuMask cpus{};
  std::uint64_t memory_bytes = 0;
};

/// Those of this machine, whether or not this process may use them; empty where nothing can be found out.
[[nodiscard]] std::vector<NumaDomain> numa_domains();

struct Machine {
  std::size_t sockets = 0;
  std::vector<core::CpuMask> cores;  // the hardware threads of each
  std::vector<NumaDomain> domains;
};

/// All of it. Takes some milliseconds.
[[nodiscard]] Machine look_at_machine();

[[nodiscard]] bool overlap(const core::CpuMask& a, const core::CpuMask& b) noexcept;
[[nodiscard]] core::CpuMask common(const core::CpuMask& a, const core::CpuMask& b) noexcept;

/// The cores of which this process may use at least one hardware thread, each with those that it may use.
[[nodiscard]] std::vector<core::CpuMask> allowed_cores(const Machine& machine, const core::CpuMask& allowed);

}  // namespace cobre::comm::topology
