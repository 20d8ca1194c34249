// One process a rank, for contestants that bring no launcher.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace bench {

/// Calls `run_rank(rank)` in as many processes, of which this is rank 0. Returns 0 where all of them did.
template <class RunRank>
int run_ranks(std::size_t size, RunRank&& run_rank) {
  for (std::size_t rank = 1; rank < size; ++rank) {
    if (fork() == 0) _exit(run_rank(rank));
  }
  int worst = run_rank(0);
  for (int status = 0; wait(&status) > 0;) worst = std::max(worst, status == 0 ? 0 : 1);
  return worst;
}

}  // namespace bench
