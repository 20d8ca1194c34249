// Threads inside of ranks: OpenMP computes, and only the main thread talks to MPI.
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <cmath>
#include <iostream>
#include <numbers>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

using ferrompi::ReduceOp;
using ferrompi::ThreadLevel;

int main() {
  // Fails, rather than half works, if this MPI grants less.
  const auto mpi = ferrompi::Mpi::init_thread(ThreadLevel::Funneled);
  const auto world = mpi.world();
  expect(mpi.thread_level() >= ThreadLevel::Funneled, "the thread level");

  // The integral of 4 / (1 + x²) from 0 to 1, cut into strips that ranks and threads share.
  constexpr long strips = 1'000'000;
  const double width = 1.0 / strips;
  int threads = 1;
#ifdef _OPENMP
  threads = omp_get_max_threads();
#endif
  const long first = world.rank();
  const long stride = world.size();
  double area = 0;
#pragma omp parallel for reduction(+ : area)
  for (long i = first; i < strips; i += stride) {
    const double x = (static_cast<double>(i) + 0.5) * width;
    area += width * 4.0 / (1.0 + x * x);
  }

  const double pi = world.allreduce(area, ReduceOp::Sum);
  expect(std::abs(pi - std::numbers::pi) < 1e-9, "pi");
  const int workers = world.allreduce(threads, ReduceOp::Sum);
  expect(workers >= world.size(), "every rank has a thread");
  if (world.rank() == 0)
    std::cout << "pi to nine places by " << workers << " threads on " << world.size() << " ranks\n";
}
