// How much of an operation disappears behind computing: both alone, then both at once, with a look at the request now
// and then. All of it would be 100 %. In shared memory the ranks themselves do the moving and the folding: where each
// has one core, what can disappear is the waiting; a thread of the library's own needs a core of its own. Over sockets
// the kernel moves as well, and what it does on the rank's core does not disappear either.
//
//   bench_overlap <title>      started by a launcher

#include <cobre/comm.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "peers/collectives.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::Request;

constexpr std::size_t slices = 8;  // of the computing, with a look at the request after each
constexpr int rounds = 31;

// Work that neither memory nor the compiler can shorten.
double compute(std::size_t steps) {
  double x = 0.5;
  for (std::size_t i = 0; i < steps; ++i) x = 3.9 * x * (1.0 - x);
  return x;
}

template <class Comm, class Body>
double median_of(const Comm& comm, Body&& body) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    comm.barrier();
    const double begin = bench::now();
    body();
    times.push_back(comm.allreduce(bench::now() - begin, ReduceOp::Max));
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}

template <class Comm, class Begin>
void measure(const Comm& comm, const char* name, std::size_t bytes, const Begin& begin) {
  [[maybe_unused]] volatile double result = 0;
  for (int warm_up = 0; warm_up < 8; ++warm_up) begin().wait();
  const double alone = median_of(comm, [&] { begin().wait(); });
  const double step = median_of(comm, [&] { result = compute(100'000); }) / 100'000;
  const auto steps = static_cast<std::size_t>(alone / step) + 1;
  const double computing = median_of(comm, [&] { result = compute(steps); });
  const double both = median_of(comm, [&] {
    Request request = begin();
    for (std::size_t slice = 0; slice < slices; ++slice) {
      result = compute(steps / slices);
      (void)request.test();
    }
    request.wait();
  });
  if (comm.rank() != 0) return;
  std::printf("%-11s %10zu %12.1f %12.1f %12.1f %8.0f%%\n", name, bytes, alone, computing, both,
              100 * std::max(0.0, alone + computing - both) / std::min(alone, computing));
}

}  // namespace

int main(int argc, char** argv) {
  return cobre::comm::run([&](const auto& comm) {
    const char* const progress = std::getenv("COBRE_COMM_PROGRESS");
    if (comm.rank() == 0) {
      std::printf("%s, %zu ranks, brought forward by %s\n%-11s %10s %12s %12s %12s %9s\n",
                  argc > 1 ? argv[1] : "overlap", comm.size(), progress != nullptr ? progress : "calls", "", "bytes",
                  "alone us", "compute us", "both us", "overlap");
    }
    measure(comm, "ibarrier", 0, [&] { return comm.ibarrier(); });
    for (const std::size_t count : {std::size_t{1}, std::size_t{2048}, std::size_t{32768}, std::size_t{400'000}}) {
      const std::size_t bytes = count * sizeof(double);
      std::vector<double> data(count, 1.0);
      std::vector<double> all(count);
      const bench::Parts parts(count, comm.size());
      const auto own = std::span(data).first(parts.counts[comm.rank()]);
      measure(comm, "ibroadcast", bytes, [&] { return comm.ibroadcast(data, 0); });
      measure(comm, "iallgatherv", bytes, [&] { return comm.iallgatherv(own, all, parts.counts, parts.displs); });
      measure(comm, "iallreduce", bytes, [&] { return comm.iallreduce_inplace(data, ReduceOp::Max); });
      if (data != std::vector<double>(count, 1.0) || all != data) throw std::runtime_error("wrong data");
    }
  });
}
