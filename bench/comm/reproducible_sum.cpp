// What an exact sum costs beside a plain one, on one rank: the adding, without the exchange.
#include <benchmark/benchmark.h>
#include <cobre/comm.hpp>

#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

namespace {

std::vector<double> numbers(const benchmark::State& state) {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(state.range(0)));
  for (double& value : values) value = normal(generator);
  return values;
}

void accumulate(benchmark::State& state) {
  const auto values = numbers(state);
  for (auto _ : state) benchmark::DoNotOptimize(std::accumulate(values.begin(), values.end(), 0.0));
}

void reproducible_sum(benchmark::State& state) {
  const cobre::comm::LocalBackend comm;
  const auto values = numbers(state);
  for (auto _ : state) benchmark::DoNotOptimize(comm.reproducible_sum(values));
}

BENCHMARK(accumulate)->Arg(1)->Arg(1000)->Arg(1'000'000);
BENCHMARK(reproducible_sum)->Arg(1)->Arg(1000)->Arg(1'000'000);

}  // namespace

BENCHMARK_MAIN();
