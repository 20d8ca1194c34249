// This library's side of the comparison: `bench_shm <ranks> <effort> [operation [bytes]]`. The operation `regions` is
// allreduce with buffers in shared regions; BENCH_SINGLE_COPY=0 sends everything through shared buffers.

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

// Each rank's part of a region is its buffer.
class Regions {
 public:
  explicit Regions(const ShmBackend& comm) : comm_(comm) {}

  std::span<double> allocate(std::size_t n) {
    return regions_.emplace_back(comm_.create_shared_region<double>(n * comm_.size())).as_partition_span();
  }
  void release() { regions_.clear(); }

 private:
  const ShmBackend& comm_;
  std::list<cobre::comm::ShmRegion<double>> regions_;
};

int run_rank(const cobre::comm::ShmConfig& config, int argc, char** argv) {
  bench::pin(static_cast<int>(config.rank), static_cast<int>(config.size));
  const ShmBackend comm = ShmBackend::attach(config);
  Ranks ranks{comm};
  if (argc > 2 && std::strcmp(argv[2], "regions") == 0) {
    Regions memory(comm);
    bench::Comparison<Ranks, Regions> comparison(ranks, memory, std::atof(argv[1]));
    for (const std::size_t bytes : {262144UL, 3276800UL, 33554432UL}) comparison.run({"regions", bytes});
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
  if (const char* wish = std::getenv("BENCH_SINGLE_COPY"); wish != nullptr && *wish == '0') {
    config.single_copy = cobre::comm::SingleCopy::Off;
  }
  for (config.rank = 1; config.rank < size; ++config.rank) {
    if (fork() == 0) _exit(run_rank(config, argc - 1, argv + 1));
  }
  config.rank = 0;
  const int result = run_rank(config, argc - 1, argv + 1);
  int worst = result;
  for (int status = 0; wait(&status) > 0;) worst = std::max(worst, status == 0 ? 0 : 1);
  return worst;
}
