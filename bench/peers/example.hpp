// The exchanges of one training iteration of examples/sddp/cases/medium.json, without the solving between them: visited
// states, the cuts of each stage, bounds and counters.
#pragma once

#include <array>
#include <cstdint>

#include "collectives.hpp"

namespace bench {

/// What every rank contributes a part of and receives as a whole: `total` things that are `width` numbers wide.
class Exchange {
 public:
  Exchange(std::size_t total, std::size_t width, std::size_t rank, std::size_t size)
      : parts(total, size, width), own(parts.counts[rank], 1.0 + static_cast<double>(rank)), all(total * width) {}

  /// Whether every rank's part has come.
  [[nodiscard]] bool is_right(std::span<const double> values) const {
    for (std::size_t r = 0; r < parts.counts.size(); ++r) {
      for (std::size_t i = 0; i < parts.counts[r]; ++i) {
        if (values[parts.displs[r] + i] != 1.0 + static_cast<double>(r)) return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::size_t bytes() const { return all.size() * sizeof(double); }

  Parts parts;
  std::vector<double> own, all;
};

struct Example {
  static constexpr std::size_t stages = 24, scenarios = 24, openings = 10, state = 24;

  Example(std::size_t rank, std::size_t size)
      : visited(scenarios, (stages - 1) * state, rank, size),
        cuts(scenarios, 1 + state, rank, size),
        bounds(scenarios + openings, 1, rank, size) {}

  [[nodiscard]] std::size_t bytes() const {
    return visited.bytes() + (stages - 1) * cuts.bytes() + bounds.bytes() + sizeof sums;
  }

  Exchange visited, cuts, bounds;
  const std::array<std::uint64_t, 3> effort{1, 2, 3};
  std::array<std::uint64_t, 3> sums{};
};

/// `gather(exchange)` and `sum(effort, sums)` are what an iteration is made of.
template <class Gather, class Sum>
void iterate(Example& example, const Gather& gather, const Sum& sum) {
  gather(example.visited);
  for (std::size_t stage = 0; stage + 1 < Example::stages; ++stage) gather(example.cuts);
  gather(example.bounds);
  sum(example.effort, example.sums);
}

/// Runs the iteration, with `is_right(exchange)` looking at what came last.
template <class Ranks, class Iteration, class IsRight>
void compete_in_example(Ranks& ranks, const Task& task, Example& example, const Iteration& iteration,
                        const IsRight& is_right) {
  const auto iterate_and_check = [&] {
    example.sums = {};
    iteration();
    const auto n = static_cast<std::uint64_t>(ranks.size);
    if (is_right(example.visited) && is_right(example.cuts) && is_right(example.bounds) &&
        example.sums == std::array{n, 2 * n, 3 * n}) {
      return;
    }
    std::fprintf(stderr, "rank %d: wrong data in %s\n", ranks.rank, task.operation.c_str());
    std::exit(1);
  };
  iterate_and_check();
  const auto times = sample(ranks, 1, task.pace, [&](std::size_t) { iteration(); });
  iterate_and_check();
  if (ranks.rank == 0) report(task.operation, example.bytes(), times);
}

}  // namespace bench
