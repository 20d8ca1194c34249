// The ranks of one job on this machine, from their start to the last line that they print.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/core/waiting_cpus.hpp"
#include "frames.hpp"
#include "ports.hpp"

namespace cobre::command {

/// A host with its part of the ranks, reached through another program.
struct Relay {
  std::string host;
  std::vector<std::string> command;  // that starts our agent there
  std::string plan;                  // the first frame for it
};

/// Everything that has been decided before the first process starts. The children are ranks, or relays to hosts.
struct JobPlan {
  std::string program;                                        // the file; for relays the remote shell
  std::vector<std::string> arguments;                         // with the program's name first
  std::vector<std::vector<std::string>> environments = {};    // of each rank here, "NAME=value"
  std::vector<std::optional<comm::core::CpuMask>> cpus = {};  // of each rank here, where it is bound
  std::vector<Relay> relays = {};
  std::size_t first_rank = 0;  // of those here
  std::size_t job_ranks = 0;   // of all hosts together
  std::string mark = {};       // of what an agent tells its launcher; empty for a rank that has the job to itself
  std::string secret = {};     // for tcp; the ranks get it in a file that has no name
  std::shared_ptr<const HeldPort> port = {};  // for tcp, where rank 0 is one of those here
  bool tag = false;
  bool colour_output = false;
  bool colour_errors = false;
  bool keep_going = false;
  std::optional<std::chrono::milliseconds> timeout = {};

  [[nodiscard]] std::size_t children() const noexcept { return relays.empty() ? environments.size() : relays.size(); }
};

/// Runs it to its end and returns the exit code of the first rank that failed, or 0.
[[nodiscard]] int run_job(const JobPlan& plan);

/// The same for an agent, which is told about signals and input through frames on its standard input. A line that ends
/// means that the launcher is gone: nothing is left running.
[[nodiscard]] int run_job(const JobPlan& plan, FrameReader& orders);

}  // namespace cobre::command
