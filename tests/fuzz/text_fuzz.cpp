// Everything that a user, a scheduler or the kernel writes or hands over: the environment, secrets, lists and files of
// hosts, plans, cases, bars and stored runs in JSON, checkpoints, programs, options, control groups. The first byte
// chooses the parser. Each may refuse, with an error of its own; nothing else may come out of it.

#include <cobre/comm/base/slurm.hpp>
#include <cobre/comm/detail/worker.hpp>
#include <cobre/comm/errors.hpp>
#include <cobre/comm/shm.hpp>
#include <cobre/comm/tcp.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bars.hpp"
#include "bench/check.hpp"
#include "bench/lists.hpp"
#include "bench/report.hpp"
#include "case.hpp"
#include "checkpoint.hpp"
#include "comm/backends/mpi/announcement.hpp"
#include "comm/backends/shm/config.hpp"
#include "comm/backends/tcp/config.hpp"
#include "comm/core/environment.hpp"
#include "comm/core/inherited.hpp"
#include "comm/core/ledger_file.hpp"
#include "comm/core/memory_limits.hpp"
#include "comm/core/text.hpp"
#include "comm/core/waiting_cpus.hpp"
#include "comm/factory/selection.hpp"
#include "frames.hpp"
#include "hosts.hpp"
#include "needed.hpp"
#include "notices.hpp"
#include "options.hpp"
#include "remote.hpp"
#include "sddp/options.hpp"
#include "support/fake_control_groups.hpp"

namespace {

using namespace cobre::comm;

// One variable a line, in this order; a line of one minus sign leaves it out, as does the end of the text.
void set_variables(std::string_view text, std::span<const char* const> names) {
  for (const char* const name : names) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string value(text.substr(0, end));
    if (text.empty() || value == "-" || value.find('\0') != std::string::npos) {
      unsetenv(name);
    } else {
      setenv(name, value.c_str(), 1);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void environment_of_shm(std::string_view text) {
  set_variables(text, std::array{"COBRE_SHM_RANK", "COBRE_SHM_SIZE", "COBRE_SHM_NAME", "COBRE_COMM_TIMEOUT_SECS",
                                 "COBRE_COMM_WITNESS"});
  try {
    const ShmConfig config = ShmConfig::from_environment();
    shm::check(config);
    if (config.rank >= config.size || config.name.empty()) __builtin_trap();
  } catch (const BackendError&) {
  }
}

void environment_of_tcp(std::string_view text) {
  set_variables(text, std::array{"COBRE_TCP_RANK", "COBRE_TCP_SIZE", "COBRE_TCP_COORDINATOR", "COBRE_TCP_PORT",
                                 "COBRE_TCP_SECRET", "COBRE_TCP_BIND_ADDR", "COBRE_TCP_CONNECT_TIMEOUT_MS",
                                 "COBRE_TCP_SHARED_MEMORY", "COBRE_COMM_TIMEOUT_SECS", "COBRE_TCP_HOST_TIMEOUT_MS",
                                 "COBRE_COMM_LEDGER", "COBRE_COMM_WITNESS"});
  try {
    const TcpConfig config = TcpConfig::from_environment();
    tcp::check(config);
    if (config.rank >= config.size || tcp::coordinator_of(config).host.empty()) __builtin_trap();
  } catch (const BackendError&) {
  }
}

// What every backend looks at. A ledger that a launcher made is named by a plus sign.
void environment_of_all(std::string_view text) {
  static const int ledger = [] {
    const int file = memfd_create("ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ftruncate(file, sizeof(core::LedgerFile)) != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
      __builtin_trap();
    }
    return file;
  }();
  set_variables(text, std::array{"COBRE_COMM_BACKEND", "COBRE_COMM_PROGRESS", "COBRE_COMM_CHECK", "COBRE_COMM_LEDGER"});
  const auto named = [](const char* variable) { return std::string(std::getenv(variable)); };
  try {
    const BackendKind asked = factory::requested_backend();
    if (core::is_set("COBRE_COMM_BACKEND") && named("COBRE_COMM_BACKEND") != to_string(asked)) __builtin_trap();
    factory::require_available(factory::detect_backend());
  } catch (const BackendError&) {
  }
  try {
    const bool by_thread = detail::drive_from_environment() == detail::Drive::Thread;
    if (by_thread && named("COBRE_COMM_PROGRESS") != "thread") __builtin_trap();
  } catch (const InvalidConfiguration&) {
  }
  try {
    const core::EnvironmentReader environment("mpi");
    if (environment.flag("COBRE_COMM_CHECK").value_or(false) && named("COBRE_COMM_CHECK") != "1") __builtin_trap();
    std::string file = environment.text("COBRE_COMM_LEDGER").value_or("");
    if (const auto mark = file.find('+'); mark != std::string::npos)
      file.replace(mark, 1, core::inherited_text(ledger));
    const auto mapped = core::map_ledger_file(core::inherited_descriptor(file));
    if (mapped != nullptr) mapped->parts.back() = std::byte{1};
    if (mapped == nullptr && file == core::inherited_text(ledger)) __builtin_trap();
  } catch (const InvalidConfiguration&) {
  }
}

// A step of several tasks that says of itself what it likes. Nothing of it is left to the next input.
void environment_of_slurm(std::string_view text) {
  constexpr std::array ours{"COBRE_TCP_RANK", "COBRE_TCP_SIZE",   "COBRE_TCP_COORDINATOR",
                            "COBRE_TCP_PORT", "COBRE_TCP_SECRET", "COBRE_TCP_BIND_ADDR"};
  constexpr std::array slurms{"SLURM_STEP_NUM_TASKS",      "SLURM_PROCID", "SLURM_STEP_NODELIST",
                              "SLURM_STEP_RESV_PORTS",     "SLURM_JOB_ID", "SLURM_STEP_ID",
                              "SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID"};
  for (const char* const name : ours) unsetenv(name);
  set_variables(text, slurms);
  try {
    const TcpConfig config = TcpConfig::from_environment();
    tcp::check(config);
    if (config.rank >= config.size || config.size < 2 || config.port == 0) __builtin_trap();
  } catch (const BackendError&) {
  }
  (void)slurm::local_size();
  for (const char* const name : slurms) unsetenv(name);
}

// What programs read of a step of Slurm, and what a launcher of MPI announces.
void environment_of_launchers(std::string_view text) {
  constexpr std::array names{"SLURM_MEM_PER_NODE",
                             "SLURM_MEM_PER_CPU",
                             "SLURM_CPUS_ON_NODE",
                             "SLURM_NODEID",
                             "SLURM_TASKS_PER_NODE",
                             "SLURM_STEP_TASKS_PER_NODE",
                             "SLURM_NTASKS",
                             "SLURM_NPROCS",
                             "SLURM_JOB_CPUS_PER_NODE",
                             "OMPI_COMM_WORLD_SIZE",
                             "PMI_SIZE"};
  set_variables(text, names);
  if (const auto bytes = slurm::memory_on_node_bytes()) {
    if (*bytes == 0 || *bytes % (1U << 20) != 0) __builtin_trap();
  }
  if (const auto list = slurm::detail::text("SLURM_JOB_CPUS_PER_NODE")) {
    const auto all = slurm::value_for_node(*list, std::nullopt);
    const auto first = slurm::value_for_node(*list, 0);
    if (all && first != all) __builtin_trap();
    if (const auto node = slurm::node_id(); all && node) {
      const auto one = slurm::value_for_node(*list, node);
      if (one && one != all) __builtin_trap();
    }
  }
  if (slurm::local_size().value_or(0) < 0 || slurm::num_tasks().value_or(0) < 0) __builtin_trap();
  if (const auto other = mpi::announcement_of_others_than(4)) {
    if (other->processes == 4 || std::to_string(other->processes).size() > std::string_view(other->text).size()) {
      __builtin_trap();
    }
  }
  for (const char* const name : names) unsetenv(name);
}

void node_lists(std::string_view text) {
  (void)tcp::first_node(text);
  while (!text.empty() && slurm::detail::next_repeated(text)) {
  }
}

void hosts(std::string_view text, bool is_file) {
  try {
    const auto shares = is_file ? cobre::command::parse_hostfile(text) : cobre::command::parse_hosts(text);
    for (const auto& share : shares) {
      if (share.name.empty() || share.ranks == 0) __builtin_trap();
      for (const char c : share.name) {
        if (std::iscntrl(static_cast<unsigned char>(c)) != 0) __builtin_trap();
      }
    }
    (void)cobre::command::fill(shares, 3);
  } catch (const cobre::command::UsageError&) {
  }
}

void frames(std::string_view text) {
  int ends[2];
  if (pipe(ends) != 0) return;
  if (write(ends[1], text.data(), text.size()) < 0) __builtin_trap();
  close(ends[1]);
  cobre::command::FrameReader reader;
  while (reader.read_some(ends[0]) == cobre::command::FrameReader::State::Open) {
    while (reader.next()) {
    }
  }
  close(ends[0]);
}

// What an agent says is either no notice, or the very same one once it is written and read again.
void notices(std::string_view text) {
  const auto notice = cobre::command::Notice::parse(text);
  if (!notice) return;
  if (notice->verdict && !notice->ending.failed()) __builtin_trap();
  const std::string line = notice->line("mark");
  const auto again = cobre::command::Notice::parse(std::string_view(line).substr(4, line.size() - 5));
  if (!again || again->verdict != notice->verdict || again->words != notice->words || again->port != notice->port) {
    __builtin_trap();
  }
  if (again->ending.code != notice->ending.code || again->ending.signal != notice->ending.signal) __builtin_trap();
}

void plan(std::string_view text) {
  try {
    const auto read = cobre::command::AgentPlan::from_json(std::string(text));
    if (read.command.empty() || read.ranks == 0 || read.first_rank + read.ranks > read.job_ranks) __builtin_trap();
  } catch (const cobre::command::UsageError&) {
  }
}

// A file that holds the text, and that others may not read: the next one replaces it.
std::string file_of(std::string_view text) {
  static const int file = [] {
    const int made = memfd_create("input", MFD_CLOEXEC);
    if (fchmod(made, S_IRUSR | S_IWUSR) != 0) __builtin_trap();
    return made;
  }();
  if (ftruncate(file, 0) != 0 || pwrite(file, text.data(), text.size(), 0) < 0) __builtin_trap();
  return "/proc/self/fd/" + std::to_string(file);
}

// White space behind it makes no other secret of it.
void secret_file(std::string_view text) {
  TcpConfig config;
  config.secret.file = file_of(text);
  try {
    const auto key = tcp::job_key(config);
    config.secret.file = file_of(std::string(text.substr(0, text.find_last_not_of(" \t\r\n") + 1)) + "\n");
    if (tcp::job_key(config) != key) __builtin_trap();
  } catch (const InvalidConfiguration&) {
  }
}

void case_file(std::string_view text) {
  try {
    (void)sddp::write_case(sddp::read_case(file_of(text), {}));
  } catch (const sddp::InputError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) __builtin_trap();  // one line
  }
}

// Of a small case, so that the header alone decides how much is read.
void checkpoint(std::string_view text) {
  sddp::Dimensions d;
  d.stages = 2;
  d.hydros = 1;
  d.scenarios = 1;
  d.iterations = 4;
  try {
    const auto read = sddp::read_checkpoint(file_of(text), 7, d);
    if (read.trace.size() > d.iterations || read.states.size() != read.trace.size()) __builtin_trap();
  } catch (const sddp::InputError&) {
  }
}

void bars(std::string_view text) {
  using cobre::command::bench::Bars;
  try {
    (void)Bars(file_of(text)).judge({"shm", "barrier", 8, false}, {{"openmpi", 1.5}});
  } catch (const cobre::command::UsageError&) {
  }
}

void stored_run(std::string_view text) {
  try {
    if (!cobre::command::bench::Baseline(file_of(text)).compare({}).worse) __builtin_trap();  // nothing was compared
  } catch (const cobre::command::UsageError&) {
  }
}

// What is measured, and what the programs that measure it print.
void bench_lists(std::string_view text) {
  using namespace cobre::command;
  const std::string list(text);
  const auto report = bench::read_report(list);
  if (report && (report->operation.empty() || report->times.empty())) __builtin_trap();
  try {
    for (const std::size_t bytes : bench::read_sizes(list)) {
      if (bytes == 0 || bytes % sizeof(double) != 0 || bytes > std::size_t{2} << 30) __builtin_trap();
    }
  } catch (const UsageError&) {
  }
  try {
    for (const std::size_t ranks : bench::read_rank_counts(list)) {
      if (ranks == 0 || ranks > 128) __builtin_trap();
    }
  } catch (const UsageError&) {
  }
}

// The command line of the application, a word a line.
void application_options(std::string_view text) {
  std::vector<std::string> words;
  std::istringstream lines{std::string(text)};
  for (std::string word; std::getline(lines, word);) words.push_back(word);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  try {
    const sddp::Options options = sddp::parse_options(arguments);
    if (options.every == 0 || !(options.settings.tolerance >= 0 && options.settings.tolerance <= 1)) __builtin_trap();
    if (!options.case_file.empty() && options.sizes.stages) __builtin_trap();
  } catch (const sddp::InputError&) {
  }
}

// The limits of a container as the kernel writes them, with a line of dashes between two files.
void control_groups(std::string_view text) {
  static const FakeControlGroups groups;
  for (const char* const file :
       {"proc/self/cgroup", "proc/meminfo", "cgroup/job/memory.max", "cgroup/job/memory.current", "cgroup/job/cpu.max",
        "cgroup/memory/job/memory.limit_in_bytes", "cgroup/memory/job/memory.usage_in_bytes",
        "cgroup/cpu/job/cpu.cfs_quota_us", "cgroup/cpu/job/cpu.cfs_period_us"}) {
    constexpr std::string_view between = "\n--\n";
    const auto end = std::min(text.find(between), text.size());
    groups.write(file, std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + between.size(), text.size()));
  }
  if (core::available_memory(groups.proc(), groups.cgroup()).source.empty()) __builtin_trap();
  const std::size_t cpus = core::cpu_quota(groups.proc(), groups.cgroup());
  if (cpus == 0 || (cpus > CPU_SETSIZE && cpus != SIZE_MAX)) __builtin_trap();
}

void program(std::string_view text) {
  for (const std::string& library : cobre::command::needed_libraries(file_of(text))) {
    if (library.find('\0') != std::string::npos || library.size() > 256) __builtin_trap();
  }
}

// What goes into a message must not reach a terminal as anything but letters.
void quoting(std::string_view text) {
  for (const char c : core::quoted(text)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0]) {
    case 's': environment_of_shm(text); break;
    case 't': environment_of_tcp(text); break;
    case 'u': environment_of_slurm(text); break;
    case 'v': environment_of_all(text); break;
    case 'n': node_lists(text); break;
    case 'l': hosts(text, false); break;
    case 'f': hosts(text, true); break;
    case 'r': frames(text); break;
    case 'a': notices(text); break;
    case 'p': plan(text); break;
    case 'c': case_file(text); break;
    case 'k': checkpoint(text); break;
    case 'b': bars(text); break;
    case 'm': stored_run(text); break;
    case 'e': program(text); break;
    case 'w': environment_of_launchers(text); break;
    case 'x': secret_file(text); break;
    case 'o': bench_lists(text); break;
    case 'z': application_options(text); break;
    case 'g': control_groups(text); break;
    default: quoting(text); break;
  }
  return 0;
}
