#include <cobre/comm/detail/worker.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "comm/core/fork_guard.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto grace = 1s;  // for an operation to end by itself, where an exception makes its request go

}  // namespace

struct Worker::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t started = 0;
  // Written under the lock, so that nobody sleeps over it; read without, hence the release that pairs with the acquire
  // in is_over(): what the run wrote is there for who sees its number.
  std::atomic<std::uint64_t> finished{0};
  std::map<std::uint64_t, std::exception_ptr> failures;  // that nobody has heard of yet
  bool stopping = false;
  core::ForkGuard guard;
  std::thread thread;
};

Worker::Worker() : state_(std::make_unique<State>()) {}

Worker::~Worker() {
  // A forked child has no thread to join; what it would have to wake is not there either.
  if (!state_->guard.in_child()) return;
  [[maybe_unused]] const auto* const left_alone = state_.release();
}

std::uint64_t Worker::start() {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  if (!state.thread.joinable()) {
    // Signals are for the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    state.thread = std::thread([this, &state] {
      std::unique_lock held(state.mutex);
      for (;;) {
        state.changed.wait(held, [&] { return state.stopping || state.started > state.finished; });
        if (state.started == state.finished) return;
        held.unlock();
        std::exception_ptr failure;
        try {
          run();
        } catch (...) {
          failure = std::current_exception();
        }
        held.lock();
        if (failure) state.failures.emplace(state.started, std::move(failure));
        state.finished.store(state.started, std::memory_order_release);
        state.changed.notify_all();
      }
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ++state.started;
  state.changed.notify_all();
  return state.started;
}

void Worker::await_idle() noexcept {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->finished == state_->started; });
}

bool Worker::is_over(std::uint64_t number) const noexcept {
  return state_->finished.load(std::memory_order_acquire) >= number;
}

void Worker::wait(std::uint64_t number) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->finished >= number; });
  const auto failure = state_->failures.extract(number);
  lock.unlock();
  if (!failure.empty()) std::rethrow_exception(failure.mapped());
}

void Worker::drop(std::uint64_t number, bool unwinding) noexcept {
  if (state_->guard.in_child()) return;
  std::unique_lock lock(state_->mutex);
  const auto over = [&] { return state_->finished >= number; };
  if (!unwinding) {
    state_->changed.wait(lock, over);
  } else if (!state_->changed.wait_for(lock, grace, over)) {
    core::warn(
        "an exception passes through while an operation is under way that other ranks do not join; its buffers "
        "are about to go, so the job is ended");
    abort_job();
  }
  state_->failures.erase(number);
}

void Worker::stop() noexcept {
  State& state = *state_;
  if (state.guard.in_child() || !state.thread.joinable()) return;
  {
    const std::lock_guard lock(state.mutex);
    state.stopping = true;
    state.changed.notify_all();
  }
  state.thread.join();  // it finishes what it has begun
}

}  // namespace cobre::comm::detail
