// The slow side of waiting: handing the core round, sleeping, and looking after the others while there is nothing to
// do.

#include <algorithm>
#include <chrono>
#include <thread>

#include "comm/backends/shm/channel.hpp"
#include "comm/core/format.hpp"
#include "comm/core/progress.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::shm {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto between_checks = 4ms;  // of the peers, while asleep: a death is seen within this time

}  // namespace

void Channel::ring(Bell& bell) noexcept {
  // Release: who wakes up and sees the new number also sees what was stored before.
  bell.rings.fetch_add(1, std::memory_order_release);
  core::wake_sleepers(bell.rings);
}

void Channel::sleep_once(const std::atomic<Word>& word, Word value, std::size_t rank) {
  Bell& bell = block_.rank(rank).bell;
  // Pairs with ring_own_bell(); the fence is the heavy side of its argument.
  bell.sleepers.fetch_add(1, std::memory_order_acq_rel);
  if (settings_.asymmetric_fences) core::heavy_fence();
  const std::uint32_t rings = bell.rings.load(std::memory_order_acquire);
  // Looked at after the number of rings: whatever comes from here on changes that number and the kernel will not sleep.
  const bool ready = word.load(std::memory_order_acquire) >= value;
  if (!ready && block_.verdict.state.load(std::memory_order_acquire) == 0) {
    core::sleep_on(bell.rings, rings, between_checks);
  }
  bell.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void Channel::wait_patiently(const std::atomic<Word>& word, Word value, std::size_t rank) {
  const auto ready = [&] { return word.load(std::memory_order_acquire) >= value; };
  const auto begin = Clock::now();
  do {
    for (int turn = 0; turn < 8; ++turn) {
      core::give_way();
      if (ready()) return;
    }
  } while (Clock::now() - begin < settings_.policy.yielding &&
           block_.verdict.state.load(std::memory_order_relaxed) == 0);

  Clock::duration next_warning = settings_.warn_after;
  for (;;) {
    check_for_failure(word, value);
    check_for_disagreement();
    const auto waited = Clock::now() - begin;
    const double seconds = std::chrono::duration<double>(waited).count();
    if (settings_.timeout > 0ms && waited >= settings_.timeout) {
      if (ready()) return;
      time_out(rank, seconds);
    }
    if (waited >= next_warning) {
      if (speaks_for_waiting()) {
        const Where here = where();
        core::warn(core::format("{} on rank {} of {}: waiting for {:.0f} s; {}", here.operation, here.rank, here.size,
                                seconds, situation()));
      }
      next_warning *= 2;
    }
    if (core::has_other_work()) {
      // Comes back as often as that needs, and to the checks above as often as who sleeps.
      const auto until = Clock::now() + between_checks;
      do {
        core::give_way();
        if (core::footing() == core::Footing::Thread) std::this_thread::sleep_for(50us);
      } while (!ready() && Clock::now() < until);
    } else {
      sleep_once(word, value, rank);
    }
    if (ready()) return;
  }
}

}  // namespace cobre::comm::shm
