#include "launch.hpp"

#include <cobre/comm/base/slurm.hpp>
#include <cobre/comm/factory.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "comm/core/format.hpp"
#include "run/mpi.hpp"

namespace cobre::command {
namespace {

struct Announcement {
  const char* variable;
  const char* launcher;
};

// In the order in which they are believed: a launcher that was started by another one speaks last.
constexpr std::array announcements{Announcement{"COBRE_SHM_SIZE", "cobre-comm run"},
                                   Announcement{"COBRE_TCP_SIZE", "cobre-comm run"},
                                   Announcement{"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"},
                                   Announcement{"PMI_SIZE", "MPICH's mpiexec, or srun with PMI"},
                                   Announcement{"MV2_COMM_WORLD_SIZE", "MVAPICH's launcher"},
                                   Announcement{"SLURM_STEP_NUM_TASKS", "srun"}};

}  // namespace

std::optional<Launch> launch_of_this_process() {
  for (const Announcement& one : announcements) {
    const auto size = comm::slurm::detail::number<std::size_t>({one.variable});
    if (size) return Launch{one.launcher, comm::core::format("{}={}", one.variable, *size), *size};
  }
  return std::nullopt;
}

bool started_by_another_mpi() {
  const auto says = [](const char* variable) { return std::getenv(variable) != nullptr; };
  const bool by_open_mpi = says("OMPI_COMM_WORLD_SIZE");
  // What Slurm serves with this variable depends on how both were built.
  const bool by_hydra = says("PMI_SIZE") && !by_open_mpi && !comm::slurm::is_slurm_job();
  return (by_open_mpi && own_family() == MpiFamily::Mpich) || (by_hydra && own_family() == MpiFamily::OpenMpi);
}

std::optional<std::string> explain_singletons(std::size_t size) {
  const auto launch = launch_of_this_process();
  if (!launch || launch->size <= 1 || size != 1) return std::nullopt;
  const std::string what = comm::core::format("{} started {} processes ({}), but each of them is rank 0 of 1",
                                              launch->launcher, launch->size, launch->variable);
  if (const char* const forced = std::getenv("COBRE_COMM_BACKEND");
      forced != nullptr && std::string(forced) == "local") {
    return what + ": COBRE_COMM_BACKEND=local makes it so; unset it";
  }
  const auto available = comm::available_backends();
  if (std::find(available.begin(), available.end(), "mpi") == available.end()) {
    return what + ": this build has no MPI; build with COBRE_COMM_MPI=ON, or start it with cobre-comm run";
  }
  switch (own_family()) {
    case MpiFamily::OpenMpi:
      return what + ": this program was built with Open MPI and wants Open MPI's mpirun, or an srun with --mpi=pmix";
    case MpiFamily::Mpich:
      return what + ": this program was built with MPICH and wants its mpiexec, or srun --mpi=pmi2";
    case MpiFamily::Unknown: break;
  }
  return what + ": the launcher and the MPI library of the program do not belong together";
}

}  // namespace cobre::command
