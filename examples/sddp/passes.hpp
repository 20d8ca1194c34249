// The two passes of an iteration, as one rank does its part of them. No communication here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "scenario_tree.hpp"
#include "stage_problem.hpp"

namespace sddp {

/// What one path through all stages saw. The states after each stage but the last are where cuts will be made.
struct Path {
  double cost = 0.0;
  std::vector<Basis> bases;  // by stage: where the backward pass starts from
};

struct Effort {
  std::size_t problems = 0, pivots = 0;
};

/// Scenarios [first, first + paths.size()) of an iteration. `problem(stage)` gives the stage problem; `states` receives
/// [scenario][stage][state]. Stage after stage, all scenarios; a scenario's problem starts from the basis that it ended
/// with a stage before, which knows nothing of the other scenarios.
template <class Problem>
void walk_forward(const System& system, const ScenarioTree& tree, std::size_t iteration, std::size_t first, int threads,
                  const Problem& problem, std::span<Path> paths, std::span<double> states, Effort& effort) {
  const Dimensions& d = system.dimensions();
  std::vector<double> start(d.state());
  initial_state(system, start);
  std::vector<std::vector<double>> current(paths.size(), start);
  std::vector<std::size_t> pivots(paths.size());
  const Basis none;
  double worth = 1.0;
  for (Path& path : paths) path = {0.0, std::vector<Basis>(d.stages)};
  for (std::size_t stage = 0; stage < d.stages; ++stage, worth *= d.discount) {
    const StageProblem& stage_problem = problem(stage);
    parallel_for(paths.size(), threads, [&](std::size_t i) {
      const auto shocks = tree.shocks(stage, tree.opening(iteration, first + i, stage));
      const Basis& basis = stage > 0 ? paths[i].bases[stage - 1] : none;
      Solution solution = stage_problem.solve(current[i], shocks, basis);
      paths[i].cost += worth * solution.cost;
      paths[i].bases[stage] = std::move(solution.basis);
      pivots[i] += solution.pivots;
      current[i] = std::move(solution.state);
      if (stage + 1 < d.stages) {
        std::ranges::copy(current[i],
                          states.begin() + static_cast<std::ptrdiff_t>((i * (d.stages - 1) + stage) * d.state()));
      }
    });
  }
  effort.problems += paths.size() * d.stages;
  effort.pivots = std::accumulate(pivots.begin(), pivots.end(), effort.pivots);
}

/// The cuts of one stage for these paths: the next stage is solved under each opening from where each path stood, and
/// the outcomes are averaged in the order of the openings. `state(i)` is where path i stood.
template <class State>
void make_cuts(const Dimensions& d, const ScenarioTree& tree, const StageProblem& next, std::size_t stage, int threads,
               std::span<const Path> paths, const State& state, std::span<double> cuts, Effort& effort) {
  std::vector<Solution> outcomes(paths.size() * d.openings);
  parallel_for(outcomes.size(), threads, [&](std::size_t i) {
    const std::size_t path = i / d.openings, opening = i % d.openings;
    outcomes[i] = next.solve(state(path), tree.shocks(stage + 1, opening), paths[path].bases[stage + 1]);
  });
  const double share = 1.0 / static_cast<double>(d.openings);
  for (std::size_t path = 0; path < paths.size(); ++path) {
    const std::span<double> cut = cuts.subspan(path * Cut::width(d), Cut::width(d));
    std::ranges::fill(cut, 0.0);
    for (std::size_t opening = 0; opening < d.openings; ++opening) {
      const Solution& outcome = outcomes[path * d.openings + opening];
      cut[0] += outcome.value;
      for (std::size_t j = 0; j < d.state(); ++j) cut[1 + j] += outcome.slopes[j];
      effort.pivots += outcome.pivots;
    }
    for (double& number : cut) number *= share;
    const std::span<const double> point = state(path);
    for (std::size_t j = 0; j < d.state(); ++j) cut[0] -= cut[1 + j] * point[j];
  }
  effort.problems += outcomes.size();
}

}  // namespace sddp
