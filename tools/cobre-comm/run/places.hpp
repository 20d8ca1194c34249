// How many ranks fit here, and where each of them goes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "comm/core/waiting_cpus.hpp"
#include "comm/topology/machine.hpp"
#include "options.hpp"

namespace cobre::command {

/// The cores that this process may use: its affinity, and no more than its container pays for.
[[nodiscard]] std::size_t usable_cores(const comm::topology::Machine& machine);

/// The CPUs of each rank; none where it is not bound. Cores are dealt out in order, and once more from the first where
/// there are more ranks than cores; domains get neighbouring ranks, as equally many as possible.
[[nodiscard]] std::vector<std::optional<comm::core::CpuMask>> places(const comm::topology::Machine& machine,
                                                                     Binding binding, std::size_t ranks);

/// "0-3,8" as the kernel writes it.
[[nodiscard]] std::string cpu_list(const comm::core::CpuMask& cpus);

}  // namespace cobre::command
