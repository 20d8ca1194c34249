// Trying things out instead of guessing.
#pragma once

#include <optional>
#include <string>

namespace cobre::command {

struct ShmProbe {
  bool works = false;
  bool single_copy = false;  // large messages go straight between private buffers
  std::string reason = {};   // where it does not work
};

/// Two processes attach as a group of two. Takes milliseconds where it works, and two seconds at most.
[[nodiscard]] ShmProbe try_shm();

}  // namespace cobre::command
