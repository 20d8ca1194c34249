// The slow side of waiting: handing the core round, sleeping, and looking after the others while there is nothing to
// do.

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "comm/backends/shm/channel.hpp"
#include "comm/core/format.hpp"
#include "comm/core/progress.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::shm {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Of the peers, while asleep: a death is seen within this time. Who has waited for long looks less often, because every
// look wakes a core: some 50 times a second instead of 250.
constexpr std::chrono::nanoseconds between_checks = 4ms;
constexpr std::chrono::nanoseconds between_late_checks = 20ms;
constexpr int checks_of_a_wait = 50;

constexpr std::uint32_t turns_of_a_switch = 64;  // of `pause`: about as long as going to another process and back

}  // namespace

void Channel::sleep_once(const std::atomic<Word>& word, Word value, std::size_t rank,
                         std::chrono::nanoseconds longest) {
  const auto has_reason = [&] {
    return word.load(std::memory_order_acquire) >= value || block_.verdict.state.load(std::memory_order_acquire) != 0;
  };
  block_.rank(rank).bell.sleep(settings_.asymmetric_fences, has_reason, longest);
}

// Where ranks outnumber CPUs it is not the way of a flag that takes time, but going from one process to another. Who is
// missing and ran on this very CPU cannot come while this rank holds it, and gets it at once. Who ran elsewhere comes
// without that: to let others of this CPU go first, who miss the same one, would be a switch in vain. So a barrier
// takes each CPU one switch less than it has ranks, the fewest that there can be.
//   Where a rank ran is a hint: it may have been moved, or another program may need this CPU. Therefore nobody holds on
// to a CPU for longer than a switch takes, and nobody stays here for longer than it may yield.
void Channel::come_together() noexcept {
  if (core::has_other_work()) return;
  const auto begin = Clock::now();
  for (;;) {
    const Word here = static_cast<Word>(sched_getcpu()) + 1;
    // Relaxed, here and below: nothing follows from it but whose turn it is.
    if (mine_.cpu.value.load(std::memory_order_relaxed) != here) mine_.cpu.value.store(here, std::memory_order_relaxed);
    const Post* missing = nullptr;
    bool needs_this_cpu = false;
    for (std::size_t step = 1; step < size_ && !needs_this_cpu; ++step) {
      const Post& post = post_of(peer(step));
      if (post.sequence.load(std::memory_order_acquire) >= sequence_) continue;
      missing = &post;
      needs_this_cpu = block_.rank(peer(step)).cpu.value.load(std::memory_order_relaxed) == here;
    }
    if (missing == nullptr) return;
    if (!needs_this_cpu) {
      const auto came = [&] { return missing->sequence.load(std::memory_order_acquire) >= sequence_; };
      std::uint32_t turns = turns_of_a_switch;
      while (turns > 0 && !came()) {
        core::pause();
        --turns;
      }
      if (turns > 0) continue;
    }
    (void)sched_yield();
    // Asked every time: where another program wants this CPU, it takes milliseconds to come back.
    if (Clock::now() - begin >= settings_.policy.yielding) return;
  }
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

  // An operation has many waits, and one time for all of them. It begins with the first that is not over at once: who
  // never waits does not look at the clock.
  if (timed_ != sequence_) {
    timed_ = sequence_;
    began_to_wait_ = begin;
    next_warning_ = settings_.warn_after;
    warnings_ = 0;
  }
  for (;;) {
    check_base();
    check_for_failure(word, value);
    check_for_disagreement();
    const auto waited = Clock::now() - began_to_wait_;
    const double seconds = std::chrono::duration<double>(waited).count();
    if (settings_.timeout > 0ms && waited >= settings_.timeout) {
      if (ready()) return;
      time_out(rank, seconds);
    }
    if (waited >= next_warning_ && may_warn(waited)) {
      const Where here = where();
      core::warn(core::format("{} on rank {} of {}: waiting for {:.0f} s; {}", here.operation, here.rank, here.size,
                              seconds, situation()));
    }
    const auto rest =
        std::clamp<std::chrono::nanoseconds>(waited / checks_of_a_wait, between_checks, between_late_checks);
    if (core::has_other_work()) {
      core::give_way_until(ready, Clock::now() + rest);  // back to the checks above as often as who sleeps
    } else {
      sleep_once(word, value, rank, rest);
    }
    if (ready()) return;
  }
}

}  // namespace cobre::comm::shm
