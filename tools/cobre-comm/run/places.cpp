#include "places.hpp"

#include <algorithm>

#include "comm/core/format.hpp"

namespace cobre::command {
namespace {

using comm::core::CpuMask;

// Those of which we may use something, cut to what we may use.
std::vector<CpuMask> usable_domains(const comm::topology::Machine& machine, const CpuMask& allowed) {
  std::vector<CpuMask> domains;
  for (const auto& domain : machine.domains) {
    if (comm::topology::overlap(domain.cpus, allowed)) domains.push_back(comm::topology::common(domain.cpus, allowed));
  }
  if (domains.empty()) domains.push_back(allowed);
  return domains;
}

}  // namespace

std::size_t usable_cores(const comm::topology::Machine& machine) {
  const std::size_t cores = comm::topology::allowed_cores(machine, comm::core::allowed_cpus()).size();
  return std::max<std::size_t>(1, std::min(cores, comm::core::cpu_quota()));
}

std::vector<std::optional<CpuMask>> places(const comm::topology::Machine& machine, Binding binding, std::size_t ranks) {
  std::vector<std::optional<CpuMask>> masks(ranks);
  if (binding == Binding::None) return masks;
  const CpuMask allowed = comm::core::allowed_cpus();
  if (binding == Binding::Core) {
    const auto cores = comm::topology::allowed_cores(machine, allowed);
    for (std::size_t rank = 0; rank < ranks; ++rank) masks[rank] = cores[rank % cores.size()];
  } else {
    const auto domains = usable_domains(machine, allowed);
    for (std::size_t rank = 0; rank < ranks; ++rank) masks[rank] = domains[rank * domains.size() / ranks];
  }
  return masks;
}

std::string cpu_list(const CpuMask& cpus) {
  const std::size_t all = 64 * cpus.size();
  const auto has = [&](std::size_t cpu) { return cpu < all && (cpus[cpu / 64] >> (cpu % 64) & 1) != 0; };
  std::string text;
  for (std::size_t first = 0; first < all; ++first) {
    if (!has(first)) continue;
    std::size_t last = first;
    while (has(last + 1)) ++last;
    text += comm::core::format("{}{}", text.empty() ? "" : ",", first);
    if (last > first) text += comm::core::format("-{}", last);
    first = last;
  }
  return text;
}

}  // namespace cobre::command
