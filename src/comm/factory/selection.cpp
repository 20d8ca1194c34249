#include "comm/factory/selection.hpp"

#include <cobre/comm/factory.hpp>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string>

#include "comm/core/environment.hpp"

namespace cobre::comm {
namespace factory {
namespace {

// What the launchers of Open MPI, MPICH, Intel MPI, Cray and PMIx tell their processes.
constexpr const char* mpi_launcher_variables[] = {
    "PMI_RANK",        "PMI_SIZE",    "PMIX_RANK",           "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
    "MPI_LOCALRANKID", "PALS_RANKID", "MV2_COMM_WORLD_RANK",
};

// Read strictly: a number that cannot be made out is no reason to take each of the tasks for a process by itself.
bool is_task_of_several() {
  return core::EnvironmentReader("auto").number("SLURM_STEP_NUM_TASKS", 1, INT_MAX).value_or(1) > 1;
}

}  // namespace

BackendKind requested_backend() {
  const char* const raw = std::getenv("COBRE_COMM_BACKEND");
  if (raw == nullptr) return BackendKind::Auto;
  const std::string name = raw;
  for (const BackendKind kind :
       {BackendKind::Auto, BackendKind::Mpi, BackendKind::Tcp, BackendKind::Shm, BackendKind::Local}) {
    if (name == to_string(kind)) return kind;
  }
  throw InvalidBackend(name);
}

BackendKind detect_backend() {
  if (core::is_set("COBRE_TCP_COORDINATOR")) return BackendKind::Tcp;
  if (core::is_set("COBRE_SHM_NAME")) return BackendKind::Shm;
  if (std::ranges::any_of(mpi_launcher_variables, core::is_set)) return BackendKind::Mpi;
  if (is_task_of_several()) return BackendKind::Tcp;
  // Half a configuration is a mistake that the backend names. As local, each of N processes would be rank 0 of 1.
  if (core::is_set("COBRE_TCP_RANK") || core::is_set("COBRE_TCP_SIZE")) return BackendKind::Tcp;
  if (core::is_set("COBRE_SHM_RANK") || core::is_set("COBRE_SHM_SIZE")) return BackendKind::Shm;
  return BackendKind::Local;
}

void require_available(BackendKind kind) {
  auto available = available_backends();
  if (std::ranges::find(available, to_string(kind)) == available.end()) {
    throw BackendNotAvailable(to_string(kind), std::move(available));
  }
}

}  // namespace factory

std::vector<std::string> available_backends() {
  return {
#ifdef COBRE_COMM_HAS_MPI
      "mpi",
#endif
#ifdef COBRE_COMM_HAS_TCP
      "tcp",
#endif
#ifdef COBRE_COMM_HAS_SHM
      "shm",
#endif
      "local"};
}

}  // namespace cobre::comm
