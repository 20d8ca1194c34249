#include "comm/core/waiting_cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>

#include "comm/core/control_groups.hpp"

namespace cobre::comm::core {
namespace {

constexpr std::size_t no_quota = std::numeric_limits<std::size_t>::max();

std::size_t whole_cpus(double quota, double period) {
  if (quota <= 0 || period <= 0) return no_quota;
  const double cpus = std::max(1.0, std::ceil(quota / period));
  return cpus <= CPU_SETSIZE ? static_cast<std::size_t>(cpus) : no_quota;  // more than anybody could use is no limit
}

// Version 2: "<quota> <period>", the quota "max" where there is none.
std::size_t quota_of_v2(const std::filesystem::path& group) {
  std::ifstream in(group / "cpu.max");
  double quota = 0;
  double period = 0;
  return in >> quota >> period ? whole_cpus(quota, period) : no_quota;
}

std::size_t quota_of_v1(const std::filesystem::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us");
  std::ifstream period_file(group / "cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  return quota_file >> quota && period_file >> period ? whole_cpus(quota, period) : no_quota;
}

}  // namespace

CpuMask allowed_cpus() noexcept {
  CpuMask mask{};
  static_assert(sizeof(cpu_set_t) <= sizeof(CpuMask));
  auto* const set = reinterpret_cast<cpu_set_t*>(mask.data());
  if (sched_getaffinity(0, sizeof(CpuMask), set) != 0) mask = {~std::uint64_t{0}};  // more than 1024: plenty
  return mask;
}

void move_to_share(std::size_t place, std::size_t ranks) noexcept {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const auto cpus = static_cast<std::size_t>(CPU_COUNT(&allowed));
  std::size_t before = place * cpus / ranks;  // so many CPUs are for others
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || before-- > 0) continue;
    cpu_set_t share;
    CPU_ZERO(&share);
    CPU_SET(cpu, &share);
    if (sched_setaffinity(0, sizeof share, &share) == 0) (void)sched_setaffinity(0, sizeof allowed, &allowed);
    return;
  }
}

std::size_t count(const CpuMask& mask) noexcept {
  std::size_t cpus = 0;
  for (const std::uint64_t word : mask) cpus += static_cast<std::size_t>(std::popcount(word));
  return cpus;
}

std::size_t cpu_quota(const std::filesystem::path& proc, const std::filesystem::path& cgroup_root) {
  std::size_t cpus = no_quota;
  for_each_control_group(proc, cgroup_root, "cpu", [&](CgroupVersion version, const std::filesystem::path& group) {
    cpus = std::min(cpus, version == CgroupVersion::Two ? quota_of_v2(group) : quota_of_v1(group));
  });
  return cpus;
}

std::size_t cpu_quota() {
  return cpu_quota("/proc", "/sys/fs/cgroup");
}

}  // namespace cobre::comm::core
