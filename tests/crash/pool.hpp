// Many jobs, a few at a time, from one process; and what came of them all.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "crash/job.hpp"

namespace crash {

struct Tally {
  std::size_t jobs = 0;
  std::vector<std::string> problems;
  std::set<std::string> points;  // at which somebody fell
  std::set<std::size_t> steps;   // in which
  std::size_t in_program = 0;    // how many fell after they had come together, and before they parted
  std::vector<Clock::duration> detections;
  Clock::duration slowest{0};  // of them, and whose it was
  std::string slowest_plan;

  /// Numbers, and the detection times as a histogram.
  void print(const std::string& title) const;
};

/// Runs all of them, and checks at the end that no process of theirs is left.
[[nodiscard]] Tally run_all(const std::vector<Plan>& plans);

}  // namespace crash
