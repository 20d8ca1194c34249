// This library's side of the comparison: `bench_shm <ranks> <effort> [operation [bytes]]`. The operation `regions` is
// allreduce with buffers in shared regions; BENCH_SINGLE_COPY=0 sends everything through shared buffers.

#include <cobre/comm.hpp>

#include <unistd.h>

#include <cstring>
#include <list>

#include "measure.hpp"
#include "our_ranks.hpp"
#include "processes.hpp"

namespace {

using cobre::comm::ShmBackend;
using Ranks = bench::OurRanks<ShmBackend>;

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
  Ranks ranks(comm);
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
  cobre::comm::ShmConfig config;
  config.name = "bench-" + std::to_string(getpid());
  config.size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2;
  if (const char* wish = std::getenv("BENCH_SINGLE_COPY"); wish != nullptr && *wish == '0') {
    config.single_copy = cobre::comm::SingleCopy::Off;
  }
  return bench::run_ranks(config.size, [&](std::size_t rank) {
    config.rank = rank;
    return run_rank(config, argc - 1, argv + 1);
  });
}
