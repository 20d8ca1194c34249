// How much memory this process may still take.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
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

/// Why so many bytes cannot be had, in words for AllocationFailed; nothing where they can.
std::optional<std::string> lack_of_memory(std::size_t bytes);

}  // namespace cobre::comm::core
