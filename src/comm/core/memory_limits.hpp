// How much memory this process may still take.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace cobre::comm::core {

struct MemoryLimit {
  std::size_t bytes;        // what is left
  std::string_view source;  // who sets the limit, for messages
};

/// The tighter of what the machine has free and what the memory cgroups of this process still allow.
MemoryLimit available_memory();

/// The same with the two file systems elsewhere, for tests.
MemoryLimit available_memory(const std::filesystem::path& proc, const std::filesystem::path& cgroup_root);

}  // namespace cobre::comm::core
