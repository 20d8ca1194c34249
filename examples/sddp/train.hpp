// Training: forward pass, backward pass, bounds, until a rule says stop. Written against the concept: any communicator.
//
// Per iteration, over all ranks:
//   allgatherv   the states that the paths visited         once, between the passes
//   allgatherv   the new cuts of a stage                   once a stage, last to first; nobody goes on without them
//   allgatherv   path costs and first-stage values         once; every rank folds them in the same order
//   allreduce    how much was solved, who wants to stop    once
// docs/sddp.md draws it. What is computed for a scenario never depends on the rank that computes it, so neither do the
// results.
#pragma once

#include <cobre/comm/concepts.hpp>
#include <cobre/comm/observed.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "blocks.hpp"
#include "cut_pool.hpp"
#include "cut_selection.hpp"
#include "passes.hpp"
#include "timing.hpp"
#include "trace.hpp"

namespace sddp {

struct Settings {
  double tolerance = 1e-6;   // the lower bound rests where it rises by less than this, relatively, …
  std::uint64_t window = 0;  // … over so many iterations; 0: only the iterations of the case end it
  std::int32_t threads = 1;
  bool select_cuts = false;
};

/// What training asks of the program around it. All of it is called on every rank.
struct Surroundings {
  std::function<bool()> wants_stop;                                 // has this rank been asked to end?
  std::function<void(const std::vector<Iteration>&, Status)> done;  // after each iteration
};

template <cobre::comm::Communicator C>
class Trainer {
 public:
  Trainer(const C& comm, const System& system, const ScenarioTree& tree, CutPool<C>& pool, const Settings& settings,
          Recorder& recorder)
      : comm_(comm, recorder),
        system_(system),
        d_(system.dimensions()),
        tree_(tree),
        pool_(pool),
        threads_(settings.threads),
        recorder_(recorder),
        scenarios_(d_.scenarios, comm.size()),
        openings_(d_.openings, comm.size()),
        paths_(scenarios_.size(comm.rank())),
        states_(d_.scenarios * (d_.stages - 1) * d_.state()),
        fresh_(d_.stages - 1),
        selection_(d_, settings.select_cuts) {}

  /// Iterations that a checkpoint brought are in the pool already.
  void resume(std::size_t iterations) {
    settled_ = iterations * d_.scenarios;
    for (std::size_t stage = 0; stage + 1 < d_.stages; ++stage) judge(stage, {});
  }

  struct Step {
    Iteration iteration;
    bool stop;  // some rank wants to; all ranks know
  };

  Step iterate(std::size_t iteration, const std::function<bool()>& wants_stop) {
    Effort effort;
    forward(iteration, effort);
    for (std::size_t stage = d_.stages - 1; stage-- > 0;) backward(stage, effort);
    Iteration result;
    bound(result, effort);
    const std::array<std::uint64_t, 3> mine{effort.problems, effort.pivots, wants_stop() ? 1U : 0U};
    std::array<std::uint64_t, 3> sums{};
    comm_.allreduce(mine, sums, cobre::comm::ReduceOp::Sum);
    result.problems = sums[0];
    result.pivots = sums[1];
    settle();
    return {result, sums[2] > 0};
  }

 private:
  [[nodiscard]] StageCuts cuts(std::size_t stage) const {
    if (stage + 1 == d_.stages) return {d_, {}, {}};
    return {d_, pool_.cuts(stage, settled_), fresh_[stage]};
  }
  [[nodiscard]] StageProblem problem(std::size_t stage) const {
    const StageCuts known = cuts(stage);
    return {system_, stage, known, selection_.slots(stage, known.count())};
  }
  [[nodiscard]] std::span<const double> state(std::size_t scenario, std::size_t stage) const {
    return std::span(states_).subspan((scenario * (d_.stages - 1) + stage) * d_.state(), d_.state());
  }

  void forward(std::size_t iteration, Effort& effort) {
    const std::size_t width = (d_.stages - 1) * d_.state(), first = scenarios_.first(comm_.rank());
    std::vector<double> mine(paths_.size() * width);
    recorder_.solve([&] {
      walk_forward(
          system_, tree_, iteration, first, threads_, [&](std::size_t stage) { return problem(stage); }, paths_, mine,
          effort);
    });
    const Segments segments(scenarios_, comm_.size(), width);
    comm_.allgatherv(mine, states_, segments.counts, segments.displs);
  }

  void backward(std::size_t stage, Effort& effort) {
    const std::size_t first = scenarios_.first(comm_.rank()), width = Cut::width(d_);
    std::vector<double> mine(paths_.size() * width);
    recorder_.solve([&] {
      make_cuts(
          d_, tree_, problem(stage + 1), stage, threads_, paths_,
          [&](std::size_t path) { return state(first + path, stage); }, mine, effort);
    });
    fresh_[stage].resize(d_.scenarios * width);
    const Segments segments(scenarios_, comm_.size(), width);
    comm_.allgatherv(mine, fresh_[stage], segments.counts, segments.displs);
    pool_.write(stage, settled_, fresh_[stage], states_at(stage));
  }

  /// The expected cost under the cuts: the first stage under each opening, shared out over the ranks.
  void bound(Iteration& result, Effort& effort) {
    const std::size_t rank = comm_.rank(), first = openings_.first(rank);
    std::vector<Solution> values(openings_.size(rank));
    std::vector<double> start(d_.state());
    initial_state(system_, start);
    recorder_.solve([&] {
      const StageProblem stage = problem(0);
      parallel_for(values.size(), threads_,
                   [&](std::size_t i) { values[i] = stage.solve(start, tree_.shocks(0, first + i), {}); });
    });
    std::vector<double> mine;
    mine.reserve(paths_.size() + values.size());
    for (const Path& path : paths_) mine.push_back(path.cost);
    for (const Solution& value : values) {
      mine.push_back(value.value);
      effort.pivots += value.pivots;
    }
    effort.problems += values.size();
    fold(mine, result);
  }

  /// Each rank gives the costs of its paths, then the values of its openings; all add them up in their own order.
  void fold(const std::vector<double>& mine, Iteration& result) {
    std::vector<std::size_t> counts, displs;
    for (std::size_t rank = 0; rank < comm_.size(); ++rank) {
      displs.push_back(scenarios_.first(rank) + openings_.first(rank));
      counts.push_back(scenarios_.size(rank) + openings_.size(rank));
    }
    std::vector<double> all(d_.scenarios + d_.openings);
    comm_.allgatherv(mine, all, counts, displs);
    std::vector<double> costs;
    double values = 0.0;
    for (std::size_t rank = 0; rank < comm_.size(); ++rank) {
      const auto part = std::span(all).subspan(displs[rank], counts[rank]);
      for (const double cost : part.first(scenarios_.size(rank))) costs.push_back(cost);
      for (const double value : part.subspan(scenarios_.size(rank))) values += value;
    }
    result.lower = values / static_cast<double>(d_.openings);
    estimate_upper(costs, result);
  }

  /// The cuts of this iteration become old ones: read from the pool, like those before them.
  void settle() {
    for (std::size_t stage = 0; stage + 1 < d_.stages; ++stage) judge(stage, states_at(stage));
    recorder_.exchange([&] { pool_.settle(); });
    settled_ += d_.scenarios;
    for (std::vector<double>& cuts : fresh_) cuts.clear();
  }

  void judge(std::size_t stage, const std::vector<double>& fresh_states) {
    selection_.learn(stage, cuts(stage), pool_.states(stage, settled_), fresh_states);
  }

  /// Where all paths stood after a stage, one after another.
  [[nodiscard]] std::vector<double> states_at(std::size_t stage) const {
    std::vector<double> all;
    for (std::size_t scenario = 0; scenario < d_.scenarios; ++scenario) {
      const auto one = state(scenario, stage);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  const cobre::comm::Observed<C, Recorder> comm_;
  System system_;
  Dimensions d_;
  ScenarioTree tree_;
  CutPool<C>& pool_;
  int threads_;
  Recorder& recorder_;
  Blocks scenarios_, openings_;
  std::vector<Path> paths_;                 // of this rank's scenarios
  std::vector<double> states_;              // of all: [scenario][stage][state]
  std::vector<std::vector<double>> fresh_;  // by stage: this iteration's cuts
  std::size_t settled_ = 0;                 // slots of the pool that all may read
  CutSelection selection_;
};

/// Collective. Goes on from `trace`, which is empty or came with the pool out of a checkpoint.
template <cobre::comm::Communicator C>
Status train(const C& comm, const System& system, const ScenarioTree& tree, CutPool<C>& pool, const Settings& settings,
             const Surroundings& surroundings, std::vector<Iteration>& trace, Recorder& recorder) {
  const std::uint64_t last = system.dimensions().iterations;
  const auto status_now = [&](bool stop) {
    if (at_rest(trace, settings.window, settings.tolerance)) return Status::Converged;
    if (trace.size() >= last) return Status::IterationLimit;
    return stop ? Status::Interrupted : Status::Running;
  };
  Trainer<C> trainer(comm, system, tree, pool, settings, recorder);
  trainer.resume(trace.size());
  Status status = status_now(false);
  while (status == Status::Running) {
    const auto step = trainer.iterate(trace.size(), surroundings.wants_stop);
    trace.push_back(step.iteration);
    status = status_now(step.stop);
    surroundings.done(trace, status);
  }
  return status;
}

}  // namespace sddp
