// The training loop on a machine that does not exist: SimGrid runs one thread of this program for each rank and works
// out how long the messages would have taken. The data are real and are checked.
//
//     smpirun -np 64 … <iterations> <stages> <passes> <state> <capacity> <statistics>
#include "../../peers/sddp_ours.hpp"

#include <cobre/comm/mpi.hpp>
#include <ferrompi/environment.hpp>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: %s <iterations> <stages> <passes> <state> <capacity> <statistics>\n", argv[0]);
    return 2;
  }
  const auto number = [&](int i) { return static_cast<std::size_t>(std::strtoull(argv[i], nullptr, 10)); };
  const solver::Shape shape{number(2), number(3), number(4), number(5), number(6)};
  const auto comm = cobre::comm::FerrompiBackend::init(ferrompi::ThreadLevel::Single);
  solver::Workspace workspace(shape, comm.rank(), comm.size());

  const std::size_t iterations = number(1);
  double seconds = 0;
  for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
    workspace.fill(iteration);
    comm.barrier();
    const double begin = ferrompi::Mpi::wtime();
    solver::train(comm, workspace);
    seconds += comm.allreduce(ferrompi::Mpi::wtime() - begin, cobre::comm::ReduceOp::Max);
    if (!workspace.is_right(iteration)) {
      std::fprintf(stderr, "rank %zu of %zu: wrong data in iteration %zu\n", comm.rank(), comm.size(), iteration);
      comm.abort(1);
    }
  }
  if (comm.rank() == 0) {
    std::printf("ranks %zu collectives %zu milliseconds %.3f\n", comm.size(), solver::collectives(shape),
                seconds / static_cast<double>(iterations) * 1e3);
  }
}
