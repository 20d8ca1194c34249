// Started by an MPI launcher: every rank runs every case, each case with a communicator of its own.

#include "conformance/any_backend.hpp"
#include "conformance/worlds.hpp"
#include "ferrompi/mpi_main.hpp"

namespace {

struct MpiWorld {
  using Communicator = conformance::CommBackend;
  static std::vector<std::size_t> rank_counts() { return {0}; }  // as many as the launcher started
  static void run(std::size_t, const std::function<void(const Communicator&)>& body) {
    const Communicator comm(cobre::comm::FerrompiBackend(test_mpi().world().native()));
    conformance::guarded(comm.rank(), [&] { body(comm); });
  }
};

// An MPI that never yields needs a time slice for every step of ranks that outnumber the cores.
int random_operations(std::size_t ranks) {
  const bool yields = ferrompi::Mpi::library_version().starts_with("Open MPI");
  return yields || ranks <= std::thread::hardware_concurrency() ? 10'000 : 1000;
}

const bool joined = conformance::join<MpiWorld>("Mpi", conformance::any_backend_suite(random_operations));

}  // namespace
