#include "comm/core/waiting.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace cobre::comm::core {

using namespace std::chrono_literals;

WaitPolicy wait_policy(std::size_t ranks, std::size_t cpus) noexcept {
  if (ranks <= cpus) return {.spins = 2000, .yielding = 200us};
  return {.spins = 1, .yielding = 300us};
}

void sleep_on(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
              std::chrono::nanoseconds longest) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
  const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (longest - seconds).count()};
  // Not the private form: the word may be shared with other processes.
  (void)syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

void wake_sleepers(const std::atomic<std::uint32_t>& word) noexcept {
  (void)syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool join_heavy_fences() noexcept {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void heavy_fence() noexcept {
  (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

}  // namespace cobre::comm::core
