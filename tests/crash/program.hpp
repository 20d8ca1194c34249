// What a job does while one of its ranks falls: every operation in every size that takes another path, with the result
// checked, so that a rank that goes on with garbage is found out as well as one that hangs.
#pragma once

#include <cobre/comm.hpp>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace crash {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;

struct Step {
  const char* name;
  void (*run)(const CommBackend& comm);
};

/// In the order of the program. The last one is a barrier: who comes back from it may find the others gone.
[[nodiscard]] std::span<const Step> steps();

/// Coming to the group is step 0, then `steps()`, then leaving it.
[[nodiscard]] inline std::size_t last_collective() {
  return steps().size();
}
[[nodiscard]] inline std::size_t tear_down() {
  return steps().size() + 1;
}
[[nodiscard]] inline std::string step_name(std::size_t step) {
  if (step == 0) return "start-up";
  return step <= steps().size() ? steps()[step - 1].name : "tear-down";
}

}  // namespace crash
