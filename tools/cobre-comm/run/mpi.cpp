#include "mpi.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "comm/core/format.hpp"
#include "lookout.hpp"
#include "needed.hpp"
#include "program.hpp"
#include "spawn.hpp"

#include <cobre/comm/base/slurm.hpp>
#include <cobre/comm/config.hpp>
#ifdef COBRE_COMM_HAS_MPI
#include <ferrompi/environment.hpp>
#endif

namespace cobre::command {
namespace {

MpiFamily family_in(std::string_view text) {
  const auto says = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (says("Open MPI") || says("OpenRTE") || says("PRRTE") || says("prte")) return MpiFamily::OpenMpi;
  if (says("HYDRA") || says("Hydra") || says("MPICH") || says("Intel(R) MPI")) return MpiFamily::Mpich;
  return MpiFamily::Unknown;
}

const char* name_of(MpiFamily family) {
  switch (family) {
    case MpiFamily::OpenMpi: return "Open MPI";
    case MpiFamily::Mpich: return "MPICH";
    case MpiFamily::Unknown: break;
  }
  return "MPI";
}

struct Launcher {
  std::string path;
  MpiFamily family;
};

// The one that belongs to the library: under its full name where a distribution has several, or under the common name
// where that is the same library's.
std::optional<Launcher> find_launcher(MpiFamily wanted) {
  using List = std::vector<const char*>;
  const List full_names = wanted == MpiFamily::OpenMpi ? List{"mpirun.openmpi", "mpiexec.openmpi", "orterun", "prterun"}
                          : wanted == MpiFamily::Mpich ? List{"mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich"}
                                                       : List{};
  for (const char* const common : {"mpirun", "mpiexec"}) {
    const auto path = find_in_path(common);
    if (!path) continue;
    const MpiFamily family = family_in(output_of({*path, "--version"}));
    if (family == wanted || wanted == MpiFamily::Unknown) return Launcher{*path, family};
  }
  for (const char* const name : full_names) {
    if (const auto path = find_in_path(name)) return Launcher{*path, wanted};
  }
  return std::nullopt;
}

const char* word_of(Binding binding) {
  switch (binding) {
    case Binding::Core: return "core";
    case Binding::Numa: return "numa";
    case Binding::None: break;
  }
  return "none";
}

using Words = std::vector<std::string>;

Words open_mpi_words(const RunOptions& options, const Launcher& launcher, std::size_t ranks) {
  // More ranks than cores are welcome here, and so is root, as with the other backends.
  Words words{launcher.path, "--oversubscribe", "--bind-to", word_of(options.binding), "-n", std::to_string(ranks)};
  if (geteuid() == 0) words.insert(words.end(), {"--allow-run-as-root"});
  if (options.tag) words.insert(words.end(), {"--tag-output"});
  if (options.keep_going) words.insert(words.end(), {"--mca", "orte_abort_on_non_zero_status", "0"});
  if (options.timeout_seconds) {
    words.insert(words.end(), {"--timeout", comm::core::format("{:.0f}", std::ceil(*options.timeout_seconds))});
  }
  return words;
}

Words mpich_words(const RunOptions& options, const Launcher& launcher, std::size_t ranks) {
  Words words{launcher.path, "-n", std::to_string(ranks)};
  if (options.binding != Binding::None) words.insert(words.end(), {"-bind-to", word_of(options.binding)});
  if (options.tag) words.insert(words.end(), {"-prepend-rank"});
  if (options.keep_going) words.insert(words.end(), {"-disable-auto-cleanup"});
  if (options.timeout_seconds) {
    (void)setenv("MPIEXEC_TIMEOUT", comm::core::format("{:.0f}", std::ceil(*options.timeout_seconds)).c_str(), 1);
  }
  return words;
}

Words slurm_words(const RunOptions& options, const std::string& srun, MpiFamily family, std::size_t ranks) {
  Words words{srun, "-n", std::to_string(ranks), "--overcommit"};
  // MPICH speaks the wire protocol of every Slurm; the others need what their Slurm was built with, its default.
  if (family == MpiFamily::Mpich) words.emplace_back("--mpi=pmi2");
  if (options.binding == Binding::Core) words.emplace_back("--cpu-bind=cores");
  if (options.binding == Binding::Numa) words.emplace_back("--cpu-bind=ldoms");
  if (options.tag) words.emplace_back("--label");
  if (!options.keep_going) words.emplace_back("--kill-on-bad-exit");
  if (options.timeout_seconds) {  // Slurm counts minutes, and would round up itself
    words.push_back(comm::core::format("--time={:.0f}", std::ceil(*options.timeout_seconds / 60)));
  }
  return words;
}

}  // namespace

MpiFamily family_of(const std::string& program) {
  // A program that needs MPI through another library does not name it, and is taken to be built like this command.
  for (const std::string& library : needed_libraries(program)) {
    if (library.starts_with("libmpich.so") || library == "libmpi.so.12") return MpiFamily::Mpich;
    if (library == "libmpi.so.40" || library == "libmpi.so.20") return MpiFamily::OpenMpi;
  }
  return MpiFamily::Unknown;
}

MpiFamily own_family() {
#ifdef COBRE_COMM_HAS_MPI
  return family_in(ferrompi::Mpi::library_version());
#else
  return MpiFamily::Unknown;
#endif
}

std::optional<std::string> launcher_of(MpiFamily family) {
  const auto launcher = find_launcher(family);
  return launcher ? std::optional(launcher->path) : std::nullopt;
}

std::vector<std::string> mpi_command(const RunOptions& options, const std::string& program, std::size_t ranks) {
  MpiFamily family = family_of(program);
  if (family == MpiFamily::Unknown) family = own_family();
  const auto srun = comm::slurm::is_slurm_job() ? find_in_path("srun") : std::nullopt;
  Words words;
  // Inside an allocation Slurm itself starts what can speak to it. Open MPI's own launcher finds the allocation.
  const auto launcher = srun && family == MpiFamily::Mpich ? std::nullopt : find_launcher(family);
  if (launcher) {
    words = launcher->family == MpiFamily::OpenMpi ? open_mpi_words(options, *launcher, ranks)
                                                   : mpich_words(options, *launcher, ranks);
  } else if (srun) {
    words = slurm_words(options, *srun, family, ranks);
  } else {
    throw UsageError(
        comm::core::format("no launcher of {} is in PATH (mpirun, mpiexec or, in a Slurm job, srun); install it, "
                           "or run on this machine without MPI: --backend shm",
                           name_of(family)));
  }
  words.insert(words.end(), options.command.begin(), options.command.end());
  return words;
}

void hand_over(Words command, const RunOptions& options, std::size_t ranks) {
  (void)setenv("COBRE_COMM_BACKEND", "mpi", 1);
  // Slurm names a task that was killed by itself.
  if (!command.front().ends_with("/srun")) {
    std::optional<std::chrono::milliseconds> timeout;
    if (options.timeout_seconds) {
      timeout = std::chrono::milliseconds(static_cast<long>(*options.timeout_seconds * 1000));
    }
    const Words before = post_lookout(ranks, timeout);
    command.insert(command.end() - static_cast<std::ptrdiff_t>(options.command.size()), before.begin(), before.end());
  }
  const auto words = pointers(command);
  (void)execv(words[0], words.data());
  throw std::system_error(errno, std::generic_category(), command[0]);
}

}  // namespace cobre::command
