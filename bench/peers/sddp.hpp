// The solver's exchanges as one operation: `sddp`, whose sizes are thousandths of the production case.
#pragma once

#include "collectives.hpp"
#include "sddp_workspace.hpp"

namespace bench {

/// `train(workspace)` is one iteration. The size that is reported is what an iteration delivers to a rank.
template <class Ranks, class Train>
void compete_in_pattern(Ranks& ranks, const Task& task, const Train& train) {
  for (const std::size_t thousandths : task.sizes) {
    solver::Workspace workspace(solver::scaled(static_cast<double>(thousandths) / 1000),
                                static_cast<std::size_t>(ranks.rank), static_cast<std::size_t>(ranks.size));
    const auto train_and_check = [&](std::size_t seed) {
      workspace.fill(seed);
      train(workspace);
      if (workspace.is_right(seed)) return;
      std::fprintf(stderr, "rank %d: wrong data in sddp\n", ranks.rank);
      std::exit(1);
    };
    train_and_check(3);
    const auto times = sample(ranks, 1, task.pace, [&](std::size_t) { train(workspace); });
    train_and_check(5);
    if (ranks.rank == 0) report(task.operation, workspace.bytes(), times);
  }
}

}  // namespace bench
