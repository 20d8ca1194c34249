#include "crash/pool.hpp"

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <deque>
#include <iomanip>
#include <iostream>
#include <list>
#include <thread>

namespace crash {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t at_once = 6;  // most of a job is waiting
constexpr auto between_looks = 300us;
constexpr int most_attempts = 3;

struct Attempt {
  Plan plan;
  int number;
};
struct Running {
  explicit Running(const Attempt& attempt) : job(attempt.plan), number(attempt.number) {}
  Job job;
  int number;
};

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

// Names are right each time. The machine has far fewer cores than there are ranks, and may have other things to do: a
// plan whose ranks were late is tried again, and may not be late three times.
Tally run_all(const std::vector<Plan>& plans) {
  // Whatever a rank leaves running becomes a child of this process.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Jobs keep the memory they had: to take it page by page for each operation is a fifth of their time.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
  mallopt(M_TOP_PAD, 1 << 20);
  Tally tally;
  std::deque<Attempt> waiting;
  for (const Plan& plan : plans) waiting.push_back({plan, 1});
  std::list<Running> running;
  while (!waiting.empty() || !running.empty()) {
    for (; running.size() < at_once && !waiting.empty(); waiting.pop_front()) running.emplace_back(waiting.front());
    for (auto current = running.begin(); current != running.end();) {
      Job& job = current->job;
      if (!job.advance()) {
        ++current;
        continue;
      }
      ++tally.jobs;
      if (job.was_only_late() && current->number < most_attempts) {
        waiting.push_back({job.plan(), current->number + 1});
      } else if (const std::string problems = job.problems(); !problems.empty()) {
        tally.problems.push_back(problems);
      }
      if (!job.fell()) {
        tally.problems.push_back(job.plan().text() + ": nobody came by");
      } else {
        if (job.plan().point != nullptr) tally.points.insert(job.plan().point->name());
        const Plan& plan = job.plan();
        const std::size_t step = plan.point != nullptr ? plan.step : job.board().step[plan.victim].load();
        tally.steps.insert(step);
        if (step > 0 && step <= last_collective()) ++tally.in_program;
        const auto times = job.detection_times();
        for (const Clock::duration time : times) {
          if (time > tally.slowest) tally.slowest_plan = job.plan().text();
          tally.slowest = std::max(tally.slowest, time);
        }
        tally.detections.insert(tally.detections.end(), times.begin(), times.end());
      }
      current = running.erase(current);
    }
    std::this_thread::sleep_for(between_looks);
  }
  // Sockets and shared memory have no name in any file system, so they go with the last process that has them open; and
  // each rank that lived on has looked at what it has open itself.
  if (waitpid(-1, nullptr, WNOHANG) != -1) tally.problems.emplace_back("a process was left behind");
  return tally;
}

void Tally::print(const std::string& title) const {
  std::cout << title << ": " << jobs << " jobs, " << in_program << " falls in " << steps.size() << " steps, "
            << problems.size() << " with a problem\n";
  if (detections.empty()) return;
  auto sorted = detections;
  std::ranges::sort(sorted);
  std::cout << "  the others knew after: median " << std::setprecision(3) << milliseconds(sorted[sorted.size() / 2])
            << " ms, 99 of 100 " << milliseconds(sorted[sorted.size() * 99 / 100]) << " ms, slowest "
            << milliseconds(slowest) << " ms: " << slowest_plan << "\n";
  auto begin = sorted.begin();
  for (const Clock::duration limit : std::initializer_list<Clock::duration>{300us, 1ms, 3ms, 10ms, 30ms, 100ms, 300ms,
                                                                            1000ms, Clock::duration::max()}) {
    const auto end = std::upper_bound(begin, sorted.end(), limit);
    const auto count = static_cast<std::size_t>(end - begin);
    begin = end;
    if (count == 0) continue;
    std::cout << "  " << (limit == Clock::duration::max() ? "     later" : "up to ");
    if (limit != Clock::duration::max()) std::cout << std::setw(4) << milliseconds(limit) << " ms";
    std::cout << " " << std::setw(6) << count << " "
              << std::string((60 * count + sorted.size() - 1) / sorted.size(), '*') << "\n";
  }
}

}  // namespace crash
