// Ranks between machines, threads inside of them: OpenMP computes, and one thread of each rank communicates.
#include <omp.h>
#include <cobre/comm.hpp>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <stdexcept>
#include <vector>

int main() {
  return cobre::comm::run([](const auto& comm) {
    // The area under 4 / (1 + x^2), in strips that belong to blocks. A block is the unit of work of a thread, and its
    // sum is made by one of them: so the digits depend neither on the threads nor on the ranks.
    constexpr std::size_t blocks = 240, strips = 10'000;
    const std::size_t first = comm.rank() * blocks / comm.size(), end = (comm.rank() + 1) * blocks / comm.size();
    std::vector<double> mine(end - first);
#pragma omp parallel for schedule(dynamic, 1)
    for (std::size_t block = first; block < end; ++block) {
      double area = 0.0;
      for (std::size_t strip = 0; strip < strips; ++strip) {
        const double x = (static_cast<double>(block * strips + strip) + 0.5) / (blocks * strips);
        area += 4.0 / (1.0 + x * x);
      }
      mine[block - first] = area / (blocks * strips);
    }

    double pi = 0.0;
    for (const double area : comm.allgatherv(mine).values) pi += area;
    if (std::abs(pi - std::numbers::pi) > 1e-12) throw std::runtime_error("that is not pi");
    const int threads = comm.allreduce(omp_get_max_threads(), cobre::comm::ReduceOp::Sum);
    if (comm.rank() == 0) std::printf("pi = %.15f\n%d thread(s) on %zu rank(s)\n", pi, threads, comm.size());
  });
}
