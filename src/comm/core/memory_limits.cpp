#include "comm/core/memory_limits.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace cobre::comm::core {
namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

// The number in a control file; "max", an absent file and anything else mean no limit.
std::optional<std::size_t> read_number(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string text;
  if (!(in >> text)) return std::nullopt;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
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
    return kibibytes * 1024;
  }
  return unlimited;
}

// A limit may sit on any ancestor; the tightest counts.
std::size_t left_in_hierarchy(const std::filesystem::path& root, std::filesystem::path group, const char* limit_file,
                              const char* usage_file) {
  std::size_t left = unlimited;
  for (;;) {
    const auto directory = group == "/" ? root : root / group.relative_path();
    if (const auto limit = read_number(directory / limit_file)) {
      const std::size_t used = read_number(directory / usage_file).value_or(0);
      left = std::min(left, *limit > used ? *limit - used : 0);
    }
    if (!group.has_relative_path()) return left;
    group = group.parent_path();
  }
}

std::size_t left_in_cgroups(const std::filesystem::path& proc, const std::filesystem::path& root) {
  std::size_t left = unlimited;
  std::ifstream in(proc / "self" / "cgroup");
  std::string line;
  while (std::getline(in, line)) {  // "<id>:<controllers>:<path>", the controllers empty for version 2
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first, second - first) + ",";  // ":memory,hugetlb,"
    const std::filesystem::path group = line.substr(second + 1);
    if (controllers == ":,") {
      left = std::min(left, left_in_hierarchy(root, group, "memory.max", "memory.current"));
    } else if (controllers.find(":memory,") != std::string::npos || controllers.find(",memory,") != std::string::npos) {
      left =
          std::min(left, left_in_hierarchy(root / "memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes"));
    }
  }
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

}  // namespace cobre::comm::core
