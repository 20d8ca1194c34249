// How long a group needs to come together: ranks that are all there, from the first call into the library to the return
// of the last.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <new>
#include <vector>

#include "peers/sampling.hpp"

namespace bench {

/// `start(round, rank)` makes a communicator. False where a rank failed, or the median start took too long.
template <std::size_t size, class Start>
bool report_startup(const char* what, int wanted_milliseconds, const Start& start) {
  struct Board {
    std::atomic<int> here;
    std::atomic<bool> go;
    std::array<std::atomic<double>, size> began;
    std::array<std::atomic<double>, size> ready;
  };
  auto* const board =
      new (mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Board();
  const auto be_rank = [&](int round, std::size_t rank) {
    ++board->here;
    while (!board->go) usleep(100);
    board->began[rank] = now();
    const auto comm = start(round, rank);
    board->ready[rank] = now();
    comm.barrier();  // nobody goes home while others are still coming
    return 0;
  };
  std::vector<double> times;
  for (int round = 0; round < 20; ++round) {
    board->here = 0;
    board->go = false;
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (fork() == 0) _exit(be_rank(round, rank));
    }
    while (board->here < static_cast<int>(size)) usleep(1000);
    board->go = true;
    bool all_well = true;
    for (int status = 0; wait(&status) > 0;) all_well = all_well && status == 0;
    if (!all_well) return false;
    times.push_back(*std::max_element(board->ready.begin(), board->ready.end()) -
                    *std::min_element(board->began.begin(), board->began.end()));
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2] / 1e3;
  const auto in_time =
      std::count_if(times.begin(), times.end(), [&](double t) { return t / 1e3 < wanted_milliseconds; });
  std::printf(
      "%s: %zu ranks are up after %.2f ms (median), %.2f ms (longest of %zu); wanted: within %d ms: %s (%td in time)\n",
      what, size, median, times.back() / 1e3, times.size(), wanted_milliseconds,
      median < wanted_milliseconds ? "met by the median" : "MISSED BY THE MEDIAN", in_time);
  return median < wanted_milliseconds;
}

}  // namespace bench
