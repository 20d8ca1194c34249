// How every contestant is timed: batches of calls between barriers, each batch as the slowest rank saw it.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace bench {

inline double now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The CPUs that this process may use.
inline std::vector<int> allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

/// A core for each rank, where there are enough: otherwise the scheduler's moves are what is measured.
inline void pin(int rank, int size) {
  const auto cpus = allowed_cpus();
  if (static_cast<std::size_t>(size) > cpus.size()) return;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(cpus[static_cast<std::size_t>(rank)], &own);
  (void)sched_setaffinity(0, sizeof own, &own);
}

/// How long to measure, in microseconds: one batch, and one point. Who shares cores needs long batches, because ranks
/// then leave a barrier far apart.
struct Pace {
  double batch;
  double total;
};

/// Microseconds of one call, a number for each batch. `call(i)` uses the i-th set of buffers; batches go on with the
/// next one, because the longest calls are alone in theirs. `Ranks` has barrier() and slowest(span), which leaves in
/// each number the largest that any rank has there.
template <class Ranks, class Call>
std::vector<double> sample(Ranks& ranks, std::size_t sets, Pace pace, Call&& call) {
  std::size_t turn = 0;
  const auto batch_of = [&](int calls) {
    ranks.barrier();
    const double begin = now();
    for (int i = 0; i < calls; ++i) call(turn++ % sets);
    return (now() - begin) / calls;
  };
  // Ranks must agree on the number of calls, so they agree on what one takes.
  const auto agreed = [&](double time) {
    ranks.slowest(std::span(&time, 1));
    return std::max(time, 1e-4);
  };
  double one = agreed(batch_of(1));
  for (int i = 0; i < 3 && one < pace.batch; ++i) one = std::min(one, agreed(batch_of(20)));  // one may be disturbed
  const int calls = static_cast<int>(std::clamp(pace.batch / one, 1.0, 1e6));
  const auto batches = static_cast<std::size_t>(std::clamp(pace.total / (one * calls), 3.0, 60.0));
  std::vector<double> times(batches);
  for (double& time : times) time = batch_of(calls);
  ranks.slowest(std::span(times));
  return times;
}

/// A line for the command that reads along: a name, a size, the samples.
inline void report(const std::string& name, std::size_t bytes, const std::vector<double>& times) {
  std::printf("%s %zu", name.c_str(), bytes);
  for (const double time : times) std::printf(" %.5g", time);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace bench
