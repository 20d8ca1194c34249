// Sleeping until another rank has done something, without costing that one more than a look.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "comm/core/waiting.hpp"

namespace cobre::comm::shm {

/// In shared memory, on lines of its own. Who sleeps counts itself here, and who has stored what it may wait for rings.
struct alignas(128) Bell {
  std::atomic<std::uint32_t> sleepers;
  std::atomic<std::uint32_t> rings;

  /// After a store that somebody may wait for. All ranks have asymmetric fences, or none uses them.
  void ring(bool asymmetric_fences) noexcept {
    if (asymmetric_fences) [[likely]] {
      // Dekker with the fence on the other side: the sleeper counts itself, executes a heavy fence, and looks at what
      // it waits for once more. Either that fence found our store done, and the sleeper sees it; or it came before our
      // store, then it also came before this load, which sees the sleeper counted. The compiler must not swap the two.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (sleepers.load(std::memory_order_relaxed) == 0) [[likely]]
        return;
    } else if (sleepers.fetch_add(0, std::memory_order_acq_rel) == 0) {
      // Two read-modify-writes of one word are ordered. If ours is first, the sleeper's acquires it and with it our
      // store; if the sleeper's is first, we see it.
      return;
    }
    wake_all();
  }

  /// Whoever sleeps here, counted or not.
  void wake_all() noexcept {
    // Release: who wakes up and sees the new number also sees what was stored before.
    rings.fetch_add(1, std::memory_order_release);
    core::wake_sleepers(rings);
  }

  /// Until somebody rings, unless `look()` finds what is waited for; at most that long.
  template <class Look>
  void sleep(bool asymmetric_fences, Look&& look, std::chrono::nanoseconds longest) {
    const Counted counted(*this);
    if (asymmetric_fences) core::heavy_fence();
    const std::uint32_t seen = rings.load(std::memory_order_acquire);
    // Looked at after the number of rings: whatever comes from here on changes that and the kernel will not sleep.
    if (!look()) core::sleep_on(rings, seen, longest);
  }

 private:
  struct Counted {
    // Pairs with ring(); the heavy fence is the other side of its argument.
    explicit Counted(Bell& at) noexcept : bell(at) { bell.sleepers.fetch_add(1, std::memory_order_acq_rel); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { bell.sleepers.fetch_sub(1, std::memory_order_relaxed); }
    Bell& bell;
  };
};

}  // namespace cobre::comm::shm
