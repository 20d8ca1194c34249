// The training loop over FerrompiBackend beside the same loop in plain C.
//
//     mpirun -n 2 bench_mpi_solver
#include "../peers/sddp_ours.hpp"
#include "../peers/sddp_plain.hpp"
#include "contest.hpp"

#include <cobre/comm/mpi.hpp>

#include <cstdio>

namespace {

constexpr double bar = 0.01;

void compare(const cobre::comm::FerrompiBackend& comm, const char* name, const solver::Shape& shape, int rounds) {
  const auto world = ferrompi::Communicator::borrow(comm.native());
  solver::Workspace workspace(shape, comm.rank(), comm.size());
  for (const auto& run : std::vector<std::function<void()>>{[&] { solver::train(comm, workspace); },
                                                            [&] { solver::train_plain(comm.native(), workspace); }}) {
    workspace.fill(3);
    run();
    if (!workspace.is_right(3)) {
      std::fprintf(stderr, "rank %zu: wrong data\n", comm.rank());
      comm.abort(1);
    }
  }
  const auto outcome = bench::compete(
      world, {[&] { solver::train_plain(comm.native(), workspace); }, [&] { solver::train(comm, workspace); }}, rounds,
      20'000);
  if (comm.rank() != 0) return;
  const auto calls = static_cast<double>(solver::collectives(shape));
  const double ours = outcome.ratios[0] - 1;
  std::printf("%-12s %11.1f us %9.3f us %+9.2f%% %+9.2f%% %+8.1f ns%s\n", name, outcome.microseconds,
              outcome.microseconds / calls, outcome.noise * 100, ours * 100, ours * outcome.microseconds / calls * 1e3,
              ours <= bar ? "" : "  <- misses its bar");
}

}  // namespace

int main() {
  // Without threads MPI is at its fastest, and whatever stands above it most visible.
  const auto comm = cobre::comm::FerrompiBackend::init(ferrompi::ThreadLevel::Single);
  if (comm.rank() == 0) {
    std::printf(
        "training iterations of 60 stages (%zu collectives) on %zu ranks: plain C, and FerrompiBackend beside it\n\n",
        solver::collectives({}), comm.size());
    std::printf("%-12s %14s %12s %10s %10s %11s\n", "case", "iteration", "collective", "noise", "ours", "a call");
  }
  compare(comm, "production", {}, 31);
  compare(comm, "medium", {.passes = 24, .state = 260, .capacity = 1200, .statistics = 600}, 61);
  compare(comm, "small", {.passes = 4, .state = 10, .capacity = 40, .statistics = 15}, 101);
  if (comm.rank() == 0) {
    std::printf("\nmedian of ratios taken in turns; noise: plain C against itself; bar: within %.0f %%\n", bar * 100);
  }
}
