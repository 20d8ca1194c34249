// Collectives of MPI on a fiber: the nonblocking call, asked after in turns.
#pragma once

#include <ferrompi/request.hpp>

#include "comm/core/progress.hpp"

namespace cobre::comm::mpi {

/// Whether this operation is not waited for. The two kinds of calls do not match each other, so all ranks must take the
/// same: they do, for it depends on the form that the program calls, and not on how patient it is meanwhile.
[[nodiscard]] inline bool in_turns() noexcept {
  return core::footing() != core::Footing::Thread;
}

inline void wait_in_turns(ferrompi::Request request) {
  while (core::footing() == core::Footing::Fiber) {
    if (request.test()) return;
    core::give_way();
  }
  request.wait();
}

}  // namespace cobre::comm::mpi
