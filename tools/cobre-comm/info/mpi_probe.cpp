// MPI, tried out: whether the launcher starts two processes of our library that find each other.

#include <cobre/comm/base/slurm.hpp>
#include <cobre/comm/config.hpp>

#include <filesystem>
#include <sstream>
#include <vector>

#include "comm/core/format.hpp"
#include "launch.hpp"
#include "probe.hpp"
#include "run/mpi.hpp"
#include "run/options.hpp"
#include "run/program.hpp"

namespace cobre::command {

#ifdef COBRE_COMM_HAS_MPI
namespace {

constexpr double patience_seconds = 8;

// Two ranks that say where they are, which fails where they do not see each other.
Output start_two() {
  RunOptions options;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  options.command = {self, "info", "--layout"};
  options.timeout_seconds = patience_seconds;
  std::vector<std::string> command{"env", "COBRE_COMM_BACKEND=mpi", "OMPI_MCA_pml_base_verbose=10",
                                   "OMPI_MCA_mtl_base_verbose=10", "OMPI_MCA_btl_base_verbose=10"};
  const auto job = mpi_command(options, self, 2);
  command.insert(command.end(), job.begin(), job.end());
  return run_and_hear(command);
}

// The last line that is neither a frame around others nor one of the many that were asked for.
std::string last_words(const std::string& told) {
  std::string last;
  std::istringstream lines(told);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.front() != '[' && line.front() != '-' && line.front() != '=') last = line;
  }
  return last;
}

}  // namespace

MpiProbe try_mpi(const std::string& launcher) {
  if (launcher.empty()) return {{.reason = "its launcher is not in PATH"}};
  if (launch_of_this_process() || comm::slurm::is_slurm_job()) return {{.reason = "not tried inside of a job"}};
  Output output = start_two();
  if (output.code != 0) output = start_two();  // PMIx may lose an answer once in some thousand starts
  MpiProbe probe{{.works = output.code == 0}, true, output.text};
  if (!probe.works) {
    const std::string words = last_words(output.text);
    probe.reason = comm::core::format("tried: two processes under {} ended with code {}{}{}", launcher, output.code,
                                      words.empty() ? "" : ": ", words);
  }
  return probe;
}

#else

MpiProbe try_mpi(const std::string&) {
  return {{.reason = "not in this build"}};
}

#endif

}  // namespace cobre::command
