// The CPUs that really are there for this process: what its affinity allows and what its container pays for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace cobre::comm::core {

/// One bit a CPU; ranks unite theirs to learn how many they have together.
using CpuMask = std::array<std::uint64_t, 16>;

/// Where this thread may run.
[[nodiscard]] CpuMask allowed_cpus() noexcept;
[[nodiscard]] std::size_t count(const CpuMask& mask) noexcept;

/// Where ranks outnumber CPUs: moves this thread, number `place` of so many, to its even share of those it may use,
/// once; it stays free to go elsewhere. The kernel takes a long time to part threads that hand a core round among them
/// while another one keeps the next core to itself, and ranks that start together come to be so as often as not.
void move_to_share(std::size_t place, std::size_t ranks) noexcept;

/// The CPU time that the cgroups of this process allow, in whole CPUs rounded up; a huge number where there is no
/// limit.
[[nodiscard]] std::size_t cpu_quota();
/// The same with the two file systems elsewhere, for tests.
[[nodiscard]] std::size_t cpu_quota(const std::filesystem::path& proc, const std::filesystem::path& cgroup_root);

}  // namespace cobre::comm::core
