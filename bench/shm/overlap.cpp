// How much of an operation disappears behind computing: both alone, then both at once, with a look at the request now
// and then. All of it would be 100 %. In shared memory the ranks themselves do the moving and the folding: where each
// has one core, what can disappear is the waiting; a thread of the library's own needs a core of its own.

#include <cobre/comm.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "peers/processes.hpp"
#include "peers/sampling.hpp"

namespace {

using cobre::comm::ReduceOp;

constexpr const char* progress = "COBRE_COMM_PROGRESS";
constexpr std::size_t slices = 8;  // of the computing, with a look at the request after each

// Work that neither memory nor the compiler can shorten.
double compute(std::size_t steps) {
  double x = 0.5;
  for (std::size_t i = 0; i < steps; ++i) x = 3.9 * x * (1.0 - x);
  return x;
}

template <class Body>
double median_of(const cobre::comm::ShmBackend& comm, Body&& body) {
  std::vector<double> times;
  for (int round = 0; round < 31; ++round) {
    comm.barrier();
    const double begin = bench::now();
    body();
    times.push_back(comm.allreduce(bench::now() - begin, ReduceOp::Max));
  }
  std::nth_element(times.begin(), times.begin() + 15, times.end());
  return times[15];
}

int run_rank(const cobre::comm::ShmConfig& config) {
  const auto comm = cobre::comm::ShmBackend::attach(config);
  volatile double result = 0;
  if (comm.rank() == 0)
    std::printf("brought forward by %s\n%10s %12s %12s %12s %9s\n", std::getenv(progress), "bytes", "alone us",
                "compute us", "both us", "overlap");
  for (const std::size_t count : {std::size_t{1}, std::size_t{2048}, std::size_t{32768}, std::size_t{400'000}}) {
    std::vector<double> data(count, 1.0);
    for (int warm_up = 0; warm_up < 8; ++warm_up) comm.iallreduce_inplace(data, ReduceOp::Max).wait();
    const double alone = median_of(comm, [&] { comm.iallreduce_inplace(data, ReduceOp::Max).wait(); });
    const double step = median_of(comm, [&] { result = compute(100'000); }) / 100'000;
    const auto steps = static_cast<std::size_t>(alone / step) + 1;
    const double computing = median_of(comm, [&] { result = compute(steps); });
    const double both = median_of(comm, [&] {
      auto request = comm.iallreduce_inplace(data, ReduceOp::Max);
      for (std::size_t slice = 0; slice < slices; ++slice) {
        result = compute(steps / slices);
        (void)request.test();
      }
      request.wait();
    });
    if (comm.rank() == 0) {
      std::printf("%10zu %12.1f %12.1f %12.1f %8.0f%%\n", count * sizeof(double), alone, computing, both,
                  100 * std::max(0.0, alone + computing - both) / std::min(alone, computing));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  cobre::comm::ShmConfig config;
  config.size = argc > 1 ? static_cast<std::size_t>(std::stoul(argv[1])) : 2;
  int result = 0;
  for (const char* drive : {"calls", "thread"}) {
    setenv(progress, drive, 1);
    config.name = "overlap-" + std::to_string(getpid()) + "-" + drive;
    result |= bench::run_ranks(config.size, [&](std::size_t rank) {
      config.rank = rank;
      return run_rank(config);
    });
  }
  return result;
}
