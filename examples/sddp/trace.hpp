// What training leaves behind of each iteration, and when it ends.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sddp {

/// One iteration. Each number is the same to the last bit for every number of ranks and threads, and every backend.
struct Iteration {
  double lower = 0.0;       // bound on the expected cost
  double upper = 0.0;       // mean cost of the forward paths, an estimate
  double half_width = 0.0;  // of the 95 % confidence interval around it
  std::uint64_t problems = 0;
  std::uint64_t pivots = 0;

  [[nodiscard]] double gap() const { return upper != 0.0 ? (upper - lower) / std::abs(upper) : 0.0; }
};

enum class Status : std::uint8_t { Running, IterationLimit, Converged, Interrupted };

[[nodiscard]] constexpr const char* to_string(Status status) {
  constexpr const char* names[] = {"running", "iteration limit", "converged", "interrupted"};
  return names[static_cast<std::size_t>(status)];
}

/// The lower bound has come to rest: over `window` iterations it rose by no more than `tolerance` of itself.
[[nodiscard]] inline bool at_rest(std::span<const Iteration> trace, std::size_t window, double tolerance) {
  if (window == 0 || trace.size() <= window) return false;
  const double now = trace.back().lower, before = trace[trace.size() - 1 - window].lower;
  return now - before <= tolerance * std::abs(now);
}

/// Mean and half width of the costs of the forward paths, added up in the order of the scenarios.
inline void estimate_upper(std::span<const double> costs, Iteration& iteration) {
  const double count = static_cast<double>(costs.size());
  double sum = 0.0, squares = 0.0;
  for (const double cost : costs) sum += cost;
  iteration.upper = sum / count;
  for (const double cost : costs) squares += (cost - iteration.upper) * (cost - iteration.upper);
  iteration.half_width = costs.size() > 1 ? 1.96 * std::sqrt(squares / (count - 1.0) / count) : 0.0;
}

}  // namespace sddp
