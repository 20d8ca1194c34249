// This library's side of the comparison: `bench_shm <ranks> <effort> [operation [bytes]]`. BENCH_REGIONS=1 keeps the
// buffers of allreduce in shared regions.

#include <cobre/comm.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "measure.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::ShmBackend;

struct Ranks {
  const ShmBackend& comm;
  int rank = static_cast<int>(comm.rank());
  int size = static_cast<int>(comm.size());
  std::vector<std::size_t> counts = std::vector<std::size_t>(comm.size());
  std::vector<std::size_t> displs = std::vector<std::size_t>(comm.size());

  void barrier() const { comm.barrier(); }
  void allreduce(const double* send, double* recv, std::size_t n) const {
    comm.allreduce(std::span(send, n), std::span(recv, n), ReduceOp::Sum);
  }
  void broadcast(double* buffer, std::size_t n) const { comm.broadcast(std::span(buffer, n), 0); }
  void allgatherv(const double* send, double* recv, std::size_t each) {
    for (std::size_t r = 0; r < counts.size(); ++r) {
      counts[r] = each;
      displs[r] = r * each;
    }
    comm.allgatherv(std::span(send, each), std::span(recv, each * counts.size()), counts, displs);
  }
  double maximum(double value) const { return comm.allreduce(value, ReduceOp::Max); }
};

// Each rank's part of one region is its send buffer, of another its recv buffer.
void compare_in_regions(Ranks& ranks, std::size_t bytes, double effort) {
  const std::size_t n = bytes / sizeof(double);
  auto send = ranks.comm.create_shared_region<double>(n * ranks.comm.size());
  auto recv = ranks.comm.create_shared_region<double>(n * ranks.comm.size());
  const auto mine = send.as_partition_span();
  const auto result = recv.as_partition_span();
  for (double& value : mine) value = 1.0 + ranks.rank;
  const int calls = std::max(2, static_cast<int>(effort * 8000.0 / (static_cast<double>(bytes) / 10e3)));
  std::vector<double> batches;
  for (int batch = 0; batch < 15; ++batch) {
    ranks.barrier();
    const double begin = bench::now();
    for (int i = 0; i < calls; ++i) ranks.comm.allreduce(mine, result, ReduceOp::Sum);
    batches.push_back(ranks.maximum((bench::now() - begin) / calls));
  }
  for (const double value : result) {
    if (value != ranks.size * (ranks.size + 1) / 2.0) std::exit(1);
  }
  std::sort(batches.begin(), batches.end());
  if (ranks.rank == 0) std::printf("allreduce_in_regions %zu %.4f\n", bytes, batches[batches.size() / 2]);
}

int run_rank(const cobre::comm::ShmConfig& config, int argc, char** argv) {
  bench::pin(static_cast<int>(config.rank), static_cast<int>(config.size));
  const ShmBackend comm = ShmBackend::attach(config);
  Ranks ranks{comm};
  if (std::getenv("BENCH_REGIONS") != nullptr) {
    for (const std::size_t bytes : {262144UL, 3276800UL, 33554432UL}) {
      compare_in_regions(ranks, bytes, argc > 1 ? std::atof(argv[1]) : 1.0);
    }
    return 0;
  }
  return bench::compare(ranks, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2;
  cobre::comm::ShmConfig config;
  config.name = "bench-" + std::to_string(getpid());
  config.size = size;
  for (config.rank = 1; config.rank < size; ++config.rank) {
    if (fork() == 0) _exit(run_rank(config, argc - 1, argv + 1));
  }
  config.rank = 0;
  const int result = run_rank(config, argc - 1, argv + 1);
  int worst = result;
  for (int status = 0; wait(&status) > 0;) worst = std::max(worst, status == 0 ? 0 : 1);
  return worst;
}
