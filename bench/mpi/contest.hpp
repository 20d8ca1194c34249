// Ways to do the same, timed in turns so that all see the same machine. The first one stands there twice: how far it is
// from itself is the noise floor, below which nothing can be said.
#pragma once

#include <ferrompi/communicator.hpp>
#include <ferrompi/environment.hpp>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace bench {

struct Outcome {
  double microseconds = 0;     // of the first contender, median
  double noise = 0;            // of the first one against itself: median of the ratios, less 1
  std::vector<double> ratios;  // of each other one to the first: median of the ratios of neighbours in time
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The slowest rank's time for `calls` calls, in microseconds for each; ranks start together.
inline double time_of(const ferrompi::Communicator& world, const std::function<void()>& run, int calls) {
  world.barrier();
  const double begin = ferrompi::Mpi::wtime();
  for (int i = 0; i < calls; ++i) run();
  return world.allreduce((ferrompi::Mpi::wtime() - begin) / calls * 1e6, ferrompi::ReduceOp::Max);
}

/// `contenders[0]` is what the others are measured against.
inline Outcome compete(const ferrompi::Communicator& world, std::vector<std::function<void()>> contenders, int rounds,
                       double batch_microseconds) {
  contenders.insert(contenders.begin(), contenders.front());
  for (const auto& run : contenders) (void)time_of(world, run, 2);
  const double once = time_of(world, contenders.front(), 3);
  const int calls = std::clamp(static_cast<int>(batch_microseconds / once), 1, 100'000);
  std::vector<std::vector<double>> times(contenders.size());
  // Another order in each round, the same on every rank: what one leaves in the caches, the next one finds, and nobody
  // may always follow the same neighbour.
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 shuffled(1);
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), shuffled);
    for (const std::size_t k : order) {
      (void)time_of(world, contenders[k], 1);
      times[k].push_back(time_of(world, contenders[k], calls));
    }
  }
  const auto ratio = [&](std::size_t k) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < times[0].size(); ++i) ratios.push_back(times[k][i] / times[0][i]);
    return median(ratios);
  };
  Outcome outcome{median(times[0]), ratio(1) - 1, {}};
  for (std::size_t k = 2; k < contenders.size(); ++k) outcome.ratios.push_back(ratio(k));
  return outcome;
}

}  // namespace bench
