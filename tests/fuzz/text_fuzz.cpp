// Everything that a user or a scheduler writes or hands over: the environment, lists and files of hosts, plans, cases,
// bars and stored runs in JSON, checkpoints, programs. The first byte chooses the parser. Each may refuse, with an
// error of its own; nothing else may come out of it.

#include <cobre/comm/base/slurm.hpp>
#include <cobre/comm/detail/worker.hpp>
#include <cobre/comm/errors.hpp>
#include <cobre/comm/shm.hpp>
#include <cobre/comm/tcp.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bench/bars.hpp"
#include "bench/check.hpp"
#include "case.hpp"
#include "checkpoint.hpp"
#include "comm/backends/shm/config.hpp"
#include "comm/backends/tcp/config.hpp"
#include "comm/core/environment.hpp"
#include "comm/core/inherited.hpp"
#include "comm/core/ledger_file.hpp"
#include "comm/core/text.hpp"
#include "comm/factory/selection.hpp"
#include "frames.hpp"
#include "hosts.hpp"
#include "needed.hpp"
#include "notices.hpp"
#include "options.hpp"
#include "remote.hpp"

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

// A file that holds the text: the next one replaces it.
std::string file_of(std::string_view text) {
  static const int file = memfd_create("input", MFD_CLOEXEC);
  if (ftruncate(file, 0) != 0 || pwrite(file, text.data(), text.size(), 0) < 0) __builtin_trap();
  return "/proc/self/fd/" + std::to_string(file);
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
    default: quoting(text); break;
  }
  return 0;
}
