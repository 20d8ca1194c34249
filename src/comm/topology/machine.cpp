#include "comm/topology/machine.hpp"

#include <cobre/comm/config.hpp>

#include <algorithm>

#ifdef COBRE_COMM_HAS_HWLOC
#include <hwloc.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#endif

namespace cobre::comm::topology {

#ifdef COBRE_COMM_HAS_HWLOC
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

// Null where hwloc cannot tell.
Handle load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Handle topology(raw);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : nullptr;
}

core::CpuMask mask_of(hwloc_const_cpuset_t set) {
  core::CpuMask mask{};
  if (set == nullptr) return mask;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) {
    const auto bit = static_cast<std::size_t>(cpu);
    if (bit / 64 < mask.size()) mask[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  return mask;
}

std::vector<NumaDomain> domains_of(hwloc_topology_t topology) {
  std::vector<NumaDomain> domains;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    domains.push_back({node->os_index, mask_of(node->cpuset), node->attr->numanode.local_memory});
  }
  return domains;
}

// Most machines and containers have one domain, and then there is nothing to ask hwloc, which takes a while to start.
bool has_one_domain() {
  if (std::getenv("HWLOC_SYNTHETIC") != nullptr || std::getenv("HWLOC_XMLFILE") != nullptr) return false;
  std::ifstream in("/sys/devices/system/node/online");
  std::string online;
  return std::getline(in, online) && online == "0";
}

}  // namespace

std::vector<NumaDomain> numa_domains() {
  if (has_one_domain()) {
    NumaDomain all;
    all.cpus.fill(~std::uint64_t{0});
    return {all};
  }
  const Handle topology = load();
  return topology ? domains_of(topology.get()) : std::vector<NumaDomain>{};
}

Machine look_at_machine() {
  Machine machine;
  const Handle topology = load();
  if (!topology) return machine;
  machine.sockets = static_cast<std::size_t>(std::max(0, hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PACKAGE)));
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_CORE, core)) != nullptr;) {
    machine.cores.push_back(mask_of(core->cpuset));
  }
  machine.domains = domains_of(topology.get());
  return machine;
}

#else

std::vector<NumaDomain> numa_domains() {
  return {};
}

Machine look_at_machine() {
  return {};
}

#endif

core::CpuMask common(const core::CpuMask& a, const core::CpuMask& b) noexcept {
  core::CpuMask both{};
  for (std::size_t i = 0; i < both.size(); ++i) both[i] = a[i] & b[i];
  return both;
}

bool overlap(const core::CpuMask& a, const core::CpuMask& b) noexcept {
  return core::count(common(a, b)) > 0;
}

std::vector<core::CpuMask> allowed_cores(const Machine& machine, const core::CpuMask& allowed) {
  std::vector<core::CpuMask> cores;
  for (const core::CpuMask& core : machine.cores) {
    if (overlap(core, allowed)) cores.push_back(common(core, allowed));
  }
  if (!cores.empty()) return cores;
  // Nothing is known of cores: each CPU is taken for one.
  for (std::size_t cpu = 0; cpu < 64 * allowed.size(); ++cpu) {
    const std::uint64_t bit = std::uint64_t{1} << (cpu % 64);
    if ((allowed[cpu / 64] & bit) == 0) continue;
    core::CpuMask one{};
    one[cpu / 64] = bit;
    cores.push_back(one);
  }
  return cores;
}

}  // namespace cobre::comm::topology
