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

/// The CPU time that the cgroups of this process allow, in whole CPUs rounded up; a huge number where there is no
/// limit.
[[nodiscard]] std::size_t cpu_quota();
/// The same with the two file systems elsewhere, for tests.
[[nodiscard]] std::size_t cpu_quota(const std::filesystem::path& proc, const std::filesystem::path& cgroup_root);

}  // namespace cobre::comm::core
