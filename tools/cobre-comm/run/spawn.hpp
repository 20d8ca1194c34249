// Starting one rank.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "comm/core/waiting_cpus.hpp"

namespace cobre::command {

struct RankStart {
  std::string program;
  std::vector<std::string> arguments;    // with the program's name first
  std::vector<std::string> environment;  // "NAME=value", on top of our own
  int input = -1;                        // what the rank finds as its three streams
  int output = -1;
  int errors = -1;
  std::vector<int> inherited;  // more descriptors that it gets, under the same numbers
  std::optional<comm::core::CpuMask> cpus;
  sigset_t signals{};  // the mask to run with
};

/// What a rank whose program could not be executed writes to `reports`.
struct StartFailure {
  pid_t pid;
  int error;
};

/// Pointers into strings that live longer, ended as execve likes it.
[[nodiscard]] std::vector<char*> pointers(const std::vector<std::string>& texts);

/// The child leads a process group of its own and dies with this process. Throws std::system_error.
[[nodiscard]] pid_t spawn(const RankStart& start, int reports);

}  // namespace cobre::command
