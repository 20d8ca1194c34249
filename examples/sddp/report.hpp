// What rank 0 tells: on the console, to programs, and as a page.
#pragma once

#include <cobre/comm/topology.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "system.hpp"
#include "timing.hpp"
#include "trace.hpp"

namespace sddp {

struct Report {
  std::string name;  // of the case
  Dimensions dimensions;
  cobre::comm::ExecutionTopology topology;
  int threads = 1;
  std::size_t resumed = 0;  // iterations that came from a checkpoint
  Status status = Status::Running;
  std::vector<Iteration> trace;
  std::vector<TimeSplit> times;  // by rank
  std::size_t bytes = 0;         // that rank 0 gave into collectives
  std::size_t exchanges = 0;     // collectives
};

/// Where the ranks run, and what they are about to solve.
[[nodiscard]] std::string describe_run(const Report& report);

/// One line on an iteration.
[[nodiscard]] std::string describe(std::size_t number, const Iteration& iteration);

/// The convergence, and where the time went.
[[nodiscard]] std::string describe_result(const Report& report);

/// The share of the ranks' time that exchanging took, without the waiting.
[[nodiscard]] double communication_share(const Report& report);

[[nodiscard]] std::string to_json(const Report& report);
[[nodiscard]] std::string to_html(const Report& report);

/// Whether somebody watches. A launcher may put a terminal of its own between us and a file; that one has no width.
[[nodiscard]] bool on_terminal();

/// A bar that redraws itself on a terminal; a line an iteration anywhere else.
class Progress {
 public:
  Progress(std::size_t iterations, bool terminal) : iterations_(iterations), terminal_(terminal) {}
  void show(const std::vector<Iteration>& trace, Status status) const;

 private:
  std::size_t iterations_;
  bool terminal_;
};

}  // namespace sddp
