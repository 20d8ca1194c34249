// The ranks of one job on this machine, from their start to the last line that they print.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "comm/core/waiting_cpus.hpp"
#include "options.hpp"

namespace cobre::command {

/// Everything that has been decided before the first process starts.
struct JobPlan {
  std::string program;  // the file
  std::vector<std::string> arguments;
  std::vector<std::vector<std::string>> environments;    // of each rank, "NAME=value"
  std::vector<std::optional<comm::core::CpuMask>> cpus;  // of each rank, where it is bound
  bool witnessed = false;                                // rank 0 may show what the ranks are in
  bool tag = false;
  bool colour_output = false;
  bool colour_errors = false;
  bool keep_going = false;
  std::optional<std::chrono::milliseconds> timeout;

  [[nodiscard]] std::size_t ranks() const noexcept { return environments.size(); }
};

/// Runs it to its end and returns the exit code of the first rank that failed, or 0.
[[nodiscard]] int run_job(const JobPlan& plan);

}  // namespace cobre::command
