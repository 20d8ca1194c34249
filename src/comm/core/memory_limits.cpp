#include "comm/core/memory_limits.hpp"

#include <cobre/comm/base/number.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "comm/core/control_groups.hpp"
#include "comm/core/format.hpp"

namespace cobre::comm::core {
namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

// The number in a control file; "max", an absent file and anything else mean no limit.
std::optional<std::size_t> read_number(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string text;
  if (!(in >> text)) return std::nullopt;
  return detail::parse_number<std::size_t>(text);
}

std::size_t free_on_machine(const std::filesystem::path& proc) {
  std::ifstream in(proc / "meminfo");
  std::string line;
  while (std::getline(in, line)) {
    std::size_t kibibytes = 0;
    constexpr std::string_view key = "MemAvailable:";
    if (!line.starts_with(key)) continue;
    const auto digits = line.find_first_of("0123456789");
    if (digits == std::string::npos) break;
    std::from_chars(line.data() + digits, line.data() + line.size(), kibibytes);
    return std::min(kibibytes, unlimited / 1024) * 1024;
  }
  return unlimited;
}

std::size_t left_in_cgroups(const std::filesystem::path& proc, const std::filesystem::path& root) {
  std::size_t left = unlimited;
  for_each_control_group(proc, root, "memory", [&](CgroupVersion version, const std::filesystem::path& group) {
    const bool two = version == CgroupVersion::Two;
    const auto limit = read_number(group / (two ? "memory.max" : "memory.limit_in_bytes"));
    if (!limit) return;
    const std::size_t used = read_number(group / (two ? "memory.current" : "memory.usage_in_bytes")).value_or(0);
    left = std::min(left, *limit > used ? *limit - used : 0);
  });
  return left;
}

}  // namespace

MemoryLimit available_memory(const std::filesystem::path& proc, const std::filesystem::path& cgroup_root) {
  const std::size_t machine = free_on_machine(proc);
  const std::size_t group = left_in_cgroups(proc, cgroup_root);
  if (group < machine) return {group, "the memory limit of this container or job"};
  return {machine, "the free memory of this machine"};
}

MemoryLimit available_memory() {
  return available_memory("/proc", "/sys/fs/cgroup");
}

std::optional<std::string> lack_of_memory(std::size_t bytes) {
  const auto limit = available_memory();
  if (bytes <= limit.bytes) return std::nullopt;
  return core::format("{} leaves {} bytes; ask for less, or run where there is more", limit.source, limit.bytes);
}

}  // namespace cobre::comm::core
