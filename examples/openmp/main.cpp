// Threads inside of ranks, with OpenMP: they compute, and the thread that made the communicator talks.
//
// As many threads as the topology recommends: what Slurm was asked for, or the rank's share of its CPUs.
#include <cobre/comm.hpp>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <stdexcept>

int main() {
  return cobre::comm::run([](const auto& comm) {
    constexpr std::size_t slabs = 1'000'000;
    constexpr double width = 1.0 / static_cast<double>(slabs);
    const cobre::comm::BlockDistribution share(slabs, comm.size());
    const auto first = static_cast<long>(share.start(comm.rank()));
    const auto last = first + static_cast<long>(share.count(comm.rank()));
    const auto threads = static_cast<int>(comm.topology().recommended_threads(comm.rank()));

    double area = 0;
#pragma omp parallel for reduction(+ : area) num_threads(threads)
    for (long i = first; i < last; ++i) {
      const double x = (static_cast<double>(i) + 0.5) * width;
      area += width * 4.0 / (1.0 + x * x);
    }

    const double pi = comm.allreduce(area, cobre::comm::ReduceOp::Sum);
    if (std::abs(pi - std::numbers::pi) > 1e-9) throw std::runtime_error("this is not pi");
    const int all = comm.allreduce(threads, cobre::comm::ReduceOp::Sum);
    if (comm.rank() == 0) std::printf("pi to nine places by %d thread(s) on %zu rank(s)\n", all, comm.size());
  });
}
