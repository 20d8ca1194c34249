#include "command.hpp"

#include <sys/resource.h>
#include <unistd.h>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cobre/comm/base/slurm.hpp>
#include <cobre/comm/factory.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "allocation.hpp"
#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "comm/topology/host.hpp"
#include "job.hpp"
#include "lookout.hpp"
#include "mpi.hpp"
#include "options.hpp"
#include "places.hpp"
#include "ports.hpp"
#include "program.hpp"
#include "remote.hpp"
#include "secret.hpp"

namespace cobre::command {
namespace {

using comm::BackendKind;

template <class... T>
void tell(fmt::format_string<T...> text, T&&... arguments) {
  const std::string line = "cobre-comm: " + comm::core::format(text, std::forward<T>(arguments)...) + "\n";
  std::fputs(line.c_str(), stderr);
}

constexpr std::size_t most_ranks_of_shm = 128;
constexpr std::size_t most_ranks_of_tcp = 1024;

constexpr const char* run_examples = R"(
Examples:
  cobre-comm run -n 4 ./app input.json        four ranks on this machine, without MPI
  cobre-comm run ./app                        one rank for each core
  cobre-comm run -n 4 --tag ./app             every line begins with its rank: [2] …
  cobre-comm run -n 4 --timeout 60 ./app      if it takes longer, says where each rank was
  cobre-comm run --hosts a:4,b:4 ./app        eight ranks on two hosts, over ssh
  cobre-comm run -n 4 --backend mpi ./app     the same program under mpirun, mpiexec or srun
  cobre-comm run -n 8 --bind numa -- cobre-comm info --layout
                                              who runs where

The exit code is that of the first rank that failed (128 + signal for one that was killed), 124 after --timeout, and 2
where nothing was started. Signals go to all ranks, standard input to rank 0. When a rank fails, the others have one
second to end by themselves, and are ended after that.)";

BackendKind default_backend() {
  const auto available = comm::available_backends();
  const auto has = [&](const char* name) { return std::ranges::find(available, name) != available.end(); };
  if (has("shm")) return BackendKind::Shm;
  if (has("mpi")) return BackendKind::Mpi;
  return BackendKind::Local;
}

std::vector<std::vector<std::string>> environments(BackendKind backend, std::size_t ranks) {
  std::vector<std::vector<std::string>> all(ranks);
  const std::string name = "run-" + make_secret();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all[rank] = {comm::core::format("COBRE_COMM_BACKEND={}", comm::to_string(backend))};
    if (backend != BackendKind::Shm) continue;
    all[rank].push_back("COBRE_SHM_NAME=" + name);
    all[rank].push_back(comm::core::format("COBRE_SHM_RANK={}", rank));
    all[rank].push_back(comm::core::format("COBRE_SHM_SIZE={}", ranks));
  }
  return all;
}

// CLI11 lets a minus sign through, and cuts what is too large.
std::string whole_number(const std::string& text) {
  constexpr std::size_t most_digits = 9;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return digits && text.size() <= most_digits ? "" : comm::core::quoted(text) + " is no number of ranks";
}

std::string seconds(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && end == text.data() + text.size();
  return number && value >= 0.001 && value <= 1e9 ? "" : comm::core::quoted(text) + " is no number of seconds";
}

// A word for a value. CLI11's own refusal lists the numbers behind the words.
template <class T>
std::function<std::string(std::string)> one_of(std::vector<std::pair<std::string, T>> choices) {
  return [choices = std::move(choices)](const std::string& word) {
    std::vector<std::string> words;
    for (const auto& [name, value] : choices) {
      if (name == word) return std::to_string(static_cast<int>(value));
      words.push_back(name);
    }
    throw CLI::ValidationError(
        comm::core::format("{} is none of {}", comm::core::quoted(word), comm::core::joined(words, ", ")));
  };
}

// Where the program stands: behind "--", or the first word that is neither an option nor the value of one.
std::vector<std::string> take_program(const CLI::App& command, std::vector<std::string>& words) {
  if (words.empty() || words.front() != command.get_name()) return {};
  std::size_t end = 1;  // of what is for us
  while (end < words.size() && words[end].size() > 1 && words[end].front() == '-' && words[end] != "--") {
    const CLI::Option* const option = command.get_option_no_throw(words[end]);
    end += option != nullptr && option->get_items_expected_max() > 0 ? 2 : 1;
  }
  end = std::min(end, words.size());
  const bool marked = end < words.size() && words[end] == "--";
  std::vector<std::string> program(words.begin() + static_cast<std::ptrdiff_t>(marked ? end + 1 : end), words.end());
  words.resize(end);
  return program;
}

void require_compiled_in(BackendKind backend) {
  const auto available = comm::available_backends();
  const std::string name = comm::to_string(backend);
  if (std::ranges::find(available, name) != available.end()) return;
  throw UsageError(
      comm::core::format("this build has no backend {}, only {}", name, comm::core::joined(available, ", ")));
}

// Of each rank we keep two pipes and a ledger open; the rest is for ourselves, and for what a start takes meanwhile.
void require_open_files(std::size_t children, const char* what) {
  constexpr rlim_t of_a_rank = 3;
  constexpr rlim_t ours = 40;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (ours + of_a_rank * children <= limit.rlim_cur) return;
  throw UsageError(comm::core::format("{} {}: a process may have {} open files here, and this takes {}; see ulimit -n",
                                      children, what, limit.rlim_cur, ours + of_a_rank * children));
}

void require_at_most(std::size_t most, std::size_t ranks, BackendKind backend) {
  if (ranks <= most) return;
  throw UsageError(comm::core::format("-n {}: at most {} ranks with {}", ranks, most, comm::to_string(backend)));
}

// Where nobody says how many. MPI's launchers start ranks on all that Slurm gave to the job, whatever this machine has.
std::size_t usual_ranks(BackendKind backend, const comm::topology::Machine& machine) {
  if (backend == BackendKind::Local) return 1;
  const auto tasks =
      backend == BackendKind::Mpi && comm::slurm::is_slurm_job() ? comm::slurm::num_tasks() : std::nullopt;
  if (tasks && *tasks > 0) return static_cast<std::size_t>(*tasks);
  const std::size_t cores = usable_cores(machine);
  return std::min(cores, allocated_cores().value_or(cores));
}

// Which backend, and how many ranks: what fits together, or what is wrong with it. Returns the ranks.
std::size_t settle(RunOptions& options, const comm::topology::Machine& machine) {
  if (options.backend == BackendKind::Auto) options.backend = default_backend();
  const BackendKind backend = options.backend;
  // Under another launcher it is the program's library that counts.
  if (backend != BackendKind::Mpi) require_compiled_in(backend);
  const std::size_t ranks = options.ranks ? *options.ranks : usual_ranks(backend, machine);
  if (ranks == 0) throw UsageError("-n 0: a job has at least one rank");
  if (backend == BackendKind::Mpi) return ranks;
  if (backend == BackendKind::Local && ranks != 1) {
    throw UsageError(comm::core::format("-n {}: the local backend is one process; use --backend shm", ranks));
  }
  require_at_most(backend == BackendKind::Tcp ? most_ranks_of_tcp : most_ranks_of_shm, ranks, backend);
  require_open_files(ranks, "ranks");
  return ranks;
}

// Ranks of tcp on this machine: one host, without an agent.
void use_tcp_here(JobPlan& plan, std::size_t ranks) {
  AgentPlan here;
  here.ranks = ranks;
  here.job_ranks = ranks;
  plan.port = std::make_shared<HeldPort>();
  here.coordinator = coordinator_here(*plan.port);
  plan.environments = tcp_environments(here);
  plan.secret = make_secret();
}

int run_on(const RunOptions& options, const std::vector<HostShare>& places, const Reach& reach) {
  require_compiled_in(BackendKind::Tcp);
  const auto hosts = fill(places, options.ranks);
  const JobPlan plan = relay_plan(options, hosts, reach);
  require_at_most(most_ranks_of_tcp, plan.job_ranks, BackendKind::Tcp);
  require_open_files(hosts.size(), "hosts");  // of an agent we keep as many open as of a rank
  if (options.verbose || options.dry_run) {
    std::size_t first = 0;
    for (const HostShare& host : hosts) {
      tell("ranks {} to {} of {} on {}, tcp", first, first + host.ranks - 1, plan.job_ranks, host.name);
      first += host.ranks;
    }
  }
  return options.dry_run ? 0 : run_job(plan);
}

int run_on_hosts(const RunOptions& options) {
  if (!options.hosts.empty() && !options.hostfile.empty()) throw UsageError("give --hosts or --hostfile, not both");
  if (options.backend != BackendKind::Auto && options.backend != BackendKind::Tcp) {
    throw UsageError(comm::core::format("--backend {}: hosts are reached with tcp", comm::to_string(options.backend)));
  }
  return run_on(options, options.hosts.empty() ? read_hostfile(options.hostfile) : parse_hosts(options.hosts),
                reach_through(options.remote_shell));
}

int run_in_allocation(const RunOptions& options) {
  return run_on(options, allocated_hosts(options.ranks),
                [](const std::string& node, const std::vector<std::string>& command) {
                  auto words = step_on(node);
                  words.insert(words.end(), command.begin(), command.end());
                  return words;
                });
}

void report(const RunOptions& options, const JobPlan& plan) {
  for (std::size_t rank = 0; rank < plan.job_ranks; ++rank) {
    const auto cpus = plan.cpus[rank].value_or(comm::core::allowed_cpus());
    tell("rank {} of {} on {}, {}, CPUs {}{}", rank, plan.job_ranks, comm::topology::host_name(),
         comm::to_string(options.backend), cpu_list(cpus), plan.cpus[rank] ? "" : " (not bound)");
  }
}

int run(RunOptions options) {
  if (options.agent) return run_agent();
  if (options.command.empty()) {
    throw UsageError("no program; write it after the options: cobre-comm run -n 4 ./app");
  }
  if (!options.lookout.empty()) become_watched(options.lookout, options.command);
  if (!options.hosts.empty() || !options.hostfile.empty()) return run_on_hosts(options);
  const bool may_be_tcp = options.backend == BackendKind::Auto || options.backend == BackendKind::Tcp;
  if (may_be_tcp && in_allocation_elsewhere()) return run_in_allocation(options);
  const auto machine = comm::topology::look_at_machine();
  const std::size_t ranks = settle(options, machine);
  const std::string program = find_program(options.command.front());
  if (options.backend == BackendKind::Mpi) {
    const auto command = mpi_command(options, program, ranks);
    if (options.verbose || options.dry_run) tell("{}", comm::core::joined(command, " "));
    if (options.dry_run) return 0;
    hand_over(command, options, ranks);
  }

  JobPlan plan;
  plan.program = program;
  plan.arguments = options.command;
  plan.job_ranks = ranks;
  if (options.backend == BackendKind::Tcp) {
    use_tcp_here(plan, ranks);
  } else {
    plan.environments = environments(options.backend, ranks);
  }
  plan.cpus = places(machine, options.binding, ranks);
  plan.tag = options.tag || options.colour == Colour::Always;
  plan.colour_output = wants_colour(options.colour, STDOUT_FILENO);
  plan.colour_errors = wants_colour(options.colour, STDERR_FILENO);
  plan.keep_going = options.keep_going;
  if (options.timeout_seconds) {
    plan.timeout = std::chrono::milliseconds(static_cast<long>(*options.timeout_seconds * 1000));
  }
  if (options.verbose || options.dry_run) report(options, plan);
  return options.dry_run ? 0 : run_job(plan);
}

}  // namespace

void add_run(CLI::App& app, std::vector<std::string>& words, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* const command =
      app.add_subcommand("run", "Start a program as several ranks: cobre-comm run [options] PROGRAM [arguments]");
  command->footer(run_examples);
  command->add_option("-n,--ranks", options->ranks, "How many ranks; without it one for each core")
      ->check(whole_number, "")
      ->type_name("RANKS");
  command->add_option("--backend", options->backend, "auto (shm; tcp with hosts), shm, tcp, mpi or local")
      ->transform(one_of<BackendKind>({{"auto", BackendKind::Auto},
                                       {"shm", BackendKind::Shm},
                                       {"tcp", BackendKind::Tcp},
                                       {"mpi", BackendKind::Mpi},
                                       {"local", BackendKind::Local}}))
      ->type_name("NAME");
  command->add_option("--hosts", options->hosts, "Start ranks on these hosts, with tcp: a:4,b:4")->type_name("LIST");
  command->add_option("--hostfile", options->hostfile, "The same from a file: a line 'a slots=4' for each host")
      ->type_name("FILE");
  command->add_option("--rsh", options->remote_shell, "What reaches a host, instead of ssh")->type_name("COMMAND");
  command->add_flag("--agent", options->agent)->group("");        // what runs on those hosts
  command->add_option("--lookout", options->lookout)->group("");  // what becomes a rank of MPI
  command->add_option("--bind", options->binding, "Bind each rank to a core or to a NUMA domain: none, core, numa")
      ->transform(one_of<Binding>({{"none", Binding::None}, {"core", Binding::Core}, {"numa", Binding::Numa}}))
      ->type_name("WHERE");
  command->add_flag("--tag", options->tag, "Begin every line of output with its rank");
  command
      ->add_option("--color,--colour", options->colour,
                   "Colour the tags: auto (on a terminal), always (tags too), never")
      ->transform(one_of<Colour>({{"auto", Colour::Auto}, {"always", Colour::Always}, {"never", Colour::Never}}))
      ->type_name("WHEN");
  command->add_option("--timeout", options->timeout_seconds, "End the job after so many seconds")
      ->check(seconds, "")
      ->type_name("SECONDS");
  command->add_flag("--keep-going", options->keep_going, "Leave the other ranks alone when one fails");
  command->add_flag("-v,--verbose", options->verbose, "Say where each rank goes");
  command->add_flag("--dry-run", options->dry_run, "Say it, and start nothing");
  options->command = take_program(*command, words);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace cobre::command
