// The exchanges of one training iteration of examples/sddp/cases/medium.json, without the solving between them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace pattern {

constexpr std::size_t stages = 24, scenarios = 24, openings = 10, state = 24, cut = 1 + state;

/// How much each of `ranks` gives of `total` things that are `width` numbers wide.
struct Shares {
  Shares(std::size_t total, std::size_t width, std::size_t ranks) : counts(ranks), displs(ranks) {
    for (std::size_t rank = 0, next = 0; rank < ranks; ++rank) {
      counts[rank] = (total / ranks + (rank < total % ranks ? 1 : 0)) * width;
      displs[rank] = next;
      next += counts[rank];
    }
  }
  std::vector<std::size_t> counts, displs;
};

/// Runs `iteration` in batches; prints the median microseconds of one, over the batches, as the slowest rank saw it.
/// `slowest` is the maximum over the ranks.
template <class Iteration, class Slowest>
void measure(const char* name, bool tells, const Iteration& iteration, const Slowest& slowest) {
  constexpr int batches = 41, repeats = 50;
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) iteration();
  for (int batch = 0; batch < batches; ++batch) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) iteration();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    times.push_back(slowest(time.count() / repeats));
  }
  std::ranges::nth_element(times, times.begin() + batches / 2);
  if (tells) std::printf("%s %.3f\n", name, times[batches / 2]);
}

}  // namespace pattern
