// What the local backend adds to the memcpy that an allreduce over one rank comes down to: checks, nothing else.
#include <benchmark/benchmark.h>
#include <cobre/comm.hpp>

#include <cstddef>
#include <cstring>
#include <vector>

namespace {

using cobre::comm::LocalBackend;
using cobre::comm::ReduceOp;

void memcpy_alone(benchmark::State& state) {
  const std::vector<double> send(static_cast<std::size_t>(state.range(0)));
  std::vector<double> recv(send.size());
  for (auto _ : state) {
    std::memcpy(recv.data(), send.data(), send.size() * sizeof(double));
    benchmark::ClobberMemory();
  }
}

void allreduce(benchmark::State& state) {
  const LocalBackend comm;
  const std::vector<double> send(static_cast<std::size_t>(state.range(0)));
  std::vector<double> recv(send.size());
  for (auto _ : state) {
    comm.allreduce(send, recv, ReduceOp::Sum);
    benchmark::ClobberMemory();
  }
}

void allreduce_of_one_value(benchmark::State& state) {
  const LocalBackend comm;
  double value = 1.0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(value);
    benchmark::DoNotOptimize(comm.allreduce(value, ReduceOp::Sum));
  }
}

BENCHMARK(memcpy_alone)->Arg(1)->Arg(128)->Arg(1 << 17);
BENCHMARK(allreduce)->Arg(1)->Arg(128)->Arg(1 << 17);
BENCHMARK(allreduce_of_one_value);

}  // namespace

BENCHMARK_MAIN();
