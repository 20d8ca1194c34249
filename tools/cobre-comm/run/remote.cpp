#include "remote.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

#include "comm/core/format.hpp"
#include "frames.hpp"
#include "notices.hpp"
#include "places.hpp"
#include "ports.hpp"
#include "program.hpp"
#include "secret.hpp"

namespace cobre::command {
namespace {

// What a program elsewhere needs of our environment to be found, and to behave as here. What is about one host, such as
// an address to listen at, is for that host to say.
std::vector<std::string> forwarded_environment() {
  std::vector<std::string> forwarded;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    for (const char* const prefix :
         {"COBRE_COMM_TIMEOUT_SECS=", "COBRE_COMM_PROGRESS=", "COBRE_TCP_CONNECT_TIMEOUT_MS=",
          "COBRE_TCP_HOST_TIMEOUT_MS=", "COBRE_TCP_SHARED_MEMORY=", "OMP_", "PATH=", "LD_LIBRARY_PATH="}) {
      if (text.starts_with(prefix)) forwarded.push_back(text);
    }
  }
  return forwarded;
}

// As rank 0's host stands in front of a port. Who reaches a host as another user does so as user@host; its address is
// what follows.
std::string address_of(const std::string& host) {
  const std::string name = host.substr(host.find('@') + 1);
  return name.find(':') == std::string::npos ? name : comm::core::format("[{}]", name);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

std::vector<std::vector<std::string>> tcp_environments(const AgentPlan& plan) {
  std::vector<std::vector<std::string>> all(plan.ranks, plan.environment);
  for (std::size_t i = 0; i < plan.ranks; ++i) {
    all[i].emplace_back("COBRE_COMM_BACKEND=tcp");
    all[i].push_back("COBRE_TCP_COORDINATOR=" + plan.coordinator);
    all[i].push_back(comm::core::format("COBRE_TCP_RANK={}", plan.first_rank + i));
    all[i].push_back(comm::core::format("COBRE_TCP_SIZE={}", plan.job_ranks));
  }
  return all;
}

std::string coordinator_here(const HeldPort& port) {
  return comm::core::format("127.0.0.1:{}", port.number());
}

Reach reach_through(const std::string& remote_shell) {
  const auto shell = words_of(remote_shell);
  if (shell.empty()) throw UsageError("--rsh is empty; give it a command such as ssh");
  return [shell](const std::string& host, const std::vector<std::string>& command) {
    // A shell on the other side reads it once more.
    std::string line;
    for (const std::string& word : command) {
      if (!line.empty()) line += ' ';
      line += shell_word(word);
    }
    auto words = shell;
    words.insert(words.end(), {host, line});
    return words;
  };
}

JobPlan relay_plan(const RunOptions& options, const std::vector<HostShare>& hosts, const Reach& reach) {
  JobPlan job;
  for (const HostShare& host : hosts) job.job_ranks += host.ranks;
  job.keep_going = options.keep_going;
  AgentPlan plan;
  plan.folder = std::filesystem::current_path();
  plan.command = options.command;
  plan.environment = forwarded_environment();
  plan.job_ranks = job.job_ranks;
  plan.coordinator = address_of(hosts.front().name);  // without a port, which is chosen there
  plan.secret = make_secret();
  plan.binding = options.binding;
  plan.tag = options.tag || options.colour == Colour::Always;
  plan.colour_output = wants_colour(options.colour, STDOUT_FILENO);
  plan.colour_errors = wants_colour(options.colour, STDERR_FILENO);
  plan.keep_going = options.keep_going;
  if (job.job_ranks > 1) job.mark = make_mark();
  plan.mark = job.mark;
  if (options.timeout_seconds) {
    // The agents know more, so they speak first.
    plan.timeout_ms = static_cast<std::int64_t>(*options.timeout_seconds * 1000);
    job.timeout = std::chrono::milliseconds(plan.timeout_ms + 3000);
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  for (const HostShare& host : hosts) {
    plan.ranks = host.ranks;
    job.relays.push_back(
        {host.name, reach(host.name, {self, "run", "--agent"}), packed(FrameKind::Plan, plan.to_json())});
    plan.first_rank += host.ranks;
  }
  job.program = find_program(job.relays.front().command.front());
  return job;
}

namespace {

Frame next_of(FrameReader& orders) {
  for (;;) {
    if (auto frame = orders.next()) return *std::move(frame);
    if (orders.read_some(STDIN_FILENO) == FrameReader::State::Closed) {
      throw UsageError("--agent is for cobre-comm run --hosts to use");
    }
  }
}

// The agent of rank 0 finds a port on its machine, holds it, and tells it to the launcher, which tells all others.
// Nothing where the job is over before it has begun here: the code to end with is in `ended`.
std::optional<std::string> agreed_port(const AgentPlan& plan, JobPlan& job, FrameReader& orders, int& ended) {
  if (plan.first_rank == 0) {
    job.port = std::make_shared<HeldPort>();
    const std::string line = Notice{.port = job.port->number()}.line(plan.mark);
    if (plan.ranks < plan.job_ranks) (void)!write(STDERR_FILENO, line.data(), line.size());
    return std::to_string(job.port->number());
  }
  for (;;) {
    const Frame frame = next_of(orders);
    if (frame.kind == FrameKind::Port) return frame.bytes;
    ended = 128 + (frame.kind == FrameKind::Failure  ? SIGTERM
                   : frame.kind == FrameKind::Signal ? std::atoi(frame.bytes.c_str())
                                                     : 0);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
      if (ended == 128 + signal) return std::nullopt;
    }
  }
}

}  // namespace

int run_agent() {
  FrameReader orders;
  const Frame first = next_of(orders);
  if (first.kind != FrameKind::Plan) throw UsageError("--agent is for cobre-comm run --hosts to use");
  AgentPlan plan = AgentPlan::from_json(first.bytes);
  std::filesystem::current_path(plan.folder);
  JobPlan job;
  job.program = find_program(plan.command.front());
  int ended = 0;
  const auto port = agreed_port(plan, job, orders, ended);
  if (!port) return ended;
  plan.coordinator += ":" + *port;
  job.arguments = plan.command;
  job.environments = tcp_environments(plan);
  job.cpus = places(comm::topology::look_at_machine(), plan.binding, plan.ranks);
  job.first_rank = plan.first_rank;
  job.job_ranks = plan.job_ranks;
  job.mark = plan.mark;
  job.secret = plan.secret;
  job.tag = plan.tag;
  job.colour_output = plan.colour_output;
  job.colour_errors = plan.colour_errors;
  job.keep_going = plan.keep_going;
  if (plan.timeout_ms > 0) job.timeout = std::chrono::milliseconds(plan.timeout_ms);
  return run_job(job, orders);
}

}  // namespace cobre::command
