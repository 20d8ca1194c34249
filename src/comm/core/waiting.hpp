// Waiting for another rank: how long to spin, when to give the core away, and how to sleep without costing the one who
// wakes us anything.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace cobre::comm::core {

/// One polite turn of a spin loop.
inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How a rank waits before it sleeps.
struct WaitPolicy {
  std::uint32_t spins;                 // turns of `pause` on the core
  std::chrono::microseconds yielding;  // then this long of handing the core round

  /// Ranks outnumber cores.
  [[nodiscard]] bool shares_cores() const noexcept { return spins <= 1; }
};

/// Ranks that have a core each spin: what they wait for is a cache line away. Where ranks outnumber cores the one that
/// is awaited may need this very core, so it is given away at once.
[[nodiscard]] WaitPolicy wait_policy(std::size_t ranks, std::size_t cpus) noexcept;

/// For what is under way to end by itself, where an exception makes its owner go: enough for peers that are on their
/// way, and short enough not to look like a hang.
inline constexpr std::chrono::seconds grace_while_unwinding{1};

/// Sleeps while `word` holds `expected`, at most that long. May return early for no reason. Works between processes.
void sleep_on(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
              std::chrono::nanoseconds longest) noexcept;
void wake_sleepers(const std::atomic<std::uint32_t>& word) noexcept;

/// The asymmetric fence. A heavy fence orders memory as if every thread of every process that joined had executed a
/// full fence at some moment during the call; so the other side of a Dekker handshake gets by without one. Joining
/// fails where the kernel cannot (before Linux 4.16, or behind a filter of system calls).
[[nodiscard]] bool join_heavy_fences() noexcept;
void heavy_fence() noexcept;

}  // namespace cobre::comm::core
