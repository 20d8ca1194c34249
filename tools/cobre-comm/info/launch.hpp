// How this process was started, as far as its environment tells.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace cobre::command {

struct Launch {
  std::string launcher;  // "Open MPI", "Hydra or Slurm (PMI)", "Slurm", "cobre-comm run"
  std::string variable;  // that says so, "PMI_SIZE=4"
  std::size_t size = 1;  // how many processes it started
};

/// None for a process that was started by itself.
[[nodiscard]] std::optional<Launch> launch_of_this_process();

/// Whether the launcher that started this process belongs to another MPI library than the one that we were built with.
[[nodiscard]] bool started_by_another_mpi();

/// Why processes that a launcher started together do not see each other, where their communicator has `size` ranks;
/// nothing where all is well. This is the classic: N processes that are each rank 0 of 1.
[[nodiscard]] std::optional<std::string> explain_singletons(std::size_t size);

}  // namespace cobre::command
