// What a launcher of MPI says in the environment of the processes that it starts.
#pragma once

#include <optional>

namespace cobre::comm::mpi {

struct Announcement {
  const char* variable;
  const char* text;  // as it stands there
  int processes;
};

/// The first that a launcher made of another number of processes than that.
[[nodiscard]] std::optional<Announcement> announcement_of_others_than(int world_size);

}  // namespace cobre::comm::mpi
