// A rank dies that is in one of two parts: what its neighbours in the part, and the ranks of the other one, hear.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <string>

#include "support/outcome.hpp"
#include "support/processes.hpp"

namespace fault {

/// Four ranks call it, with a board that all of them see. Rank 1 dies, which is rank 0 of its part.
template <class Comm>
std::string lose_a_rank_of_a_part(const Comm& comm, std::atomic<int>& ready) {
  const auto part = comm.split(comm.rank() < 2 ? 0 : 1, -static_cast<int>(comm.rank()));
  part->barrier();
  if (comm.rank() == 1) {
    test::eventually([&] { return ready == static_cast<int>(comm.size()) - 1; });
    raise(SIGKILL);
  }
  ++ready;
  const std::string first = test::outcome_of([&] { part->barrier(); });
  const std::string second = test::outcome_of([&] { part->barrier(); });
  return first + "; " + second + "; " + test::outcome_of([&] { comm.barrier(); });
}

}  // namespace fault
