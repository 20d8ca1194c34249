// Hosts that are one machine have to share its cores: else each counts on all of them, and their ranks spin.
#pragma once

#include <sched.h>

#include <cstddef>

namespace test {

/// This process keeps to every second core, from the first or the second on. Of a single core there is no half: both
/// keep it.
inline void keep_to_half_of_the_cores(bool first) {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  std::size_t seen = 0;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores) && (seen++ % 2 == 0) != first) CPU_CLR(core, &cores);
  }
  (void)sched_setaffinity(0, sizeof cores, &cores);
}

}  // namespace test
