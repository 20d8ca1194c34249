#include "ferrompi/window_memory.hpp"

#include <ferrompi/detail/mpi.hpp>

#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <initializer_list>
#include <limits>

namespace ferrompi::detail {

namespace {

constexpr auto unknown = static_cast<std::uint64_t>(std::numeric_limits<MPI_Aint>::max());

[[maybe_unused]] bool says_something(const char* variable) noexcept {
  return variable != nullptr && *variable != '\0';
}

}  // namespace

// As the libraries choose it. MPICH takes /tmp where it cannot make a file in /dev/shm. Open MPI can be told where, and
// else takes the directory that its launcher keeps for the job; the launcher tells its ranks, Slurm's does not.
const char* window_directory() noexcept {
  constexpr const char* memory = "/dev/shm";
  constexpr const char* files = "/tmp";
#ifdef OPEN_MPI
  const char* const told = std::getenv("OMPI_MCA_osc_sm_backing_directory");
  if (says_something(told)) return told;
  if (access(memory, W_OK) == 0) return memory;
  for (const char* const session : {std::getenv("OMPI_MCA_orte_top_session_dir"),
                                    std::getenv("OMPI_MCA_orte_tmpdir_base"), std::getenv("TMPDIR")}) {
    if (says_something(session)) return session;
  }
  return files;
#else
  return access(memory, W_OK) == 0 ? memory : files;
#endif
}

// A process alone gets ordinary memory from both libraries. Not knowing is no reason to refuse; where there is nothing,
// nothing is left.
std::uint64_t free_window_memory(int ranks) noexcept {
  if (ranks == 1) {
    struct sysinfo memory {};
    if (sysinfo(&memory) != 0) return unknown;
    return (static_cast<std::uint64_t>(memory.totalram) + memory.totalswap) * memory.mem_unit;
  }
  struct statvfs files {};
  if (statvfs(window_directory(), &files) != 0) return errno == ENOENT ? 0 : unknown;
  return static_cast<std::uint64_t>(files.f_bavail) * files.f_frsize;
}

}  // namespace ferrompi::detail
