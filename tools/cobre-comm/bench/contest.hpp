// The measuring itself: everyone, in turns, round after round.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "limits.hpp"
#include "options.hpp"
#include "results.hpp"
#include "trial.hpp"

namespace cobre::command::bench {

/// Somebody who was not measured, or not to the end, and why.
struct Absence {
  std::string name;
  std::string reason;
  bool failed = false;  // it was started, and something went wrong
};

struct Run {
  std::size_t cores = 1;
  Limits limits;
  Results results;
  std::vector<Absence> absences;
  bool interrupted = false;
};

/// Measures what was asked for, until it is done or somebody interrupts it. Throws UsageError where nothing can be.
[[nodiscard]] Run hold_contest(const Options& options);

}  // namespace cobre::command::bench
