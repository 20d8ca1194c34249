// A job on several hosts: an agent on each, which is this command again, reached through ssh or whatever does the same.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hosts.hpp"
#include "job.hpp"
#include "options.hpp"

namespace cobre::command {

/// What one agent is to do.
struct AgentPlan {
  std::string folder;                    // to run in
  std::vector<std::string> command;      // the program and its arguments
  std::vector<std::string> environment;  // "NAME=value", for every rank
  std::size_t first_rank = 0;
  std::size_t ranks = 1;
  std::size_t job_ranks = 1;
  std::string coordinator;  // where rank 0 listens; its agent chooses the port
  std::string mark;         // of what it tells us; none for a rank that has the job to itself
  std::string secret;
  Binding binding = Binding::None;
  bool tag = false;
  bool colour_output = false;
  bool colour_errors = false;
  bool keep_going = false;
  std::int64_t timeout_ms = 0;  // 0 for none

  [[nodiscard]] std::string to_json() const;
  /// Throws UsageError where the text is no plan.
  [[nodiscard]] static AgentPlan from_json(const std::string& text);
};

/// The ranks of one host as tcp wants them.
[[nodiscard]] std::vector<std::vector<std::string>> tcp_environments(const AgentPlan& plan);

/// Where rank 0 is at that port on this machine, for this machine alone.
[[nodiscard]] std::string coordinator_here(const HeldPort& port);

/// The command that runs a command on a host, with our standard streams.
using Reach = std::function<std::vector<std::string>(const std::string& host, const std::vector<std::string>& command)>;
[[nodiscard]] Reach reach_through(const std::string& remote_shell);

/// The plan of the launcher: one relay a host. Throws UsageError.
[[nodiscard]] JobPlan relay_plan(const RunOptions& options, const std::vector<HostShare>& hosts, const Reach& reach);

/// The agent itself: reads its plan from standard input, runs the ranks, returns the exit code.
[[nodiscard]] int run_agent();

}  // namespace cobre::command
