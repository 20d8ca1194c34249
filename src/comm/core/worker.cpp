#include <cobre/comm/detail/worker.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "comm/core/environment.hpp"
#include "comm/core/fork_guard.hpp"
#include "comm/core/format.hpp"
#include "comm/core/progress.hpp"
#include "comm/core/rest.hpp"
#include "comm/core/waiting.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::detail {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// What a start gives the making of its lane: enough for ranks that come to it together, and not worth mentioning
/// where one is late.
constexpr auto moment = 10ms;

}  // namespace

Drive drive_from_environment() {
  const auto asked = core::EnvironmentReader("progress").text("COBRE_COMM_PROGRESS");
  if (!asked || *asked == "calls") return Drive::Calls;
  if (*asked == "thread") return Drive::Thread;
  throw InvalidConfiguration("progress", "COBRE_COMM_PROGRESS", *asked, "`calls` or `thread`");
}

class Worker::State final : private core::Task {
 public:
  explicit State(Worker& worker) : worker_(worker) {}

  [[nodiscard]] bool in_forked_child() const noexcept { return guard_.in_child(); }

  std::uint64_t start(Drive drive) {
    const auto home = drive == Drive::Calls ? core::Progress::of_this_thread() : nullptr;
    std::uint64_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      if (drive == Drive::Thread && !thread_.joinable()) make_thread();
      home_ = home;
      number = ++started_;
      changed_.notify_all();
    }
    if (home != nullptr) home->start(*this);
    return number;
  }

  [[nodiscard]] bool is_over(std::uint64_t number) const noexcept {
    return finished_.load(std::memory_order_acquire) >= number;
  }

  void advance() {
    if (const auto home = this->home()) (void)home->advance();
  }

  /// False where the deadline came first.
  bool await(std::uint64_t number, std::optional<Clock::time_point> deadline = std::nullopt) {
    const auto home = this->home();
    if (home == nullptr) {
      // What else this thread has under way may be what others wait for before they join.
      for (core::Rest rest; core::has_other_work() && !is_over(number); rest.take()) {
        (void)core::give_way();
        if (deadline && Clock::now() >= *deadline) break;
      }
      std::unique_lock lock(mutex_);
      const auto over = [&] { return is_over(number); };
      if (deadline) return changed_.wait_until(lock, *deadline, over);
      changed_.wait(lock, over);
      return true;
    }
    for (core::Rest rest; !is_over(number); rest.take()) {
      if (deadline) {
        (void)home->advance();
        if (Clock::now() >= *deadline) return is_over(number);
      } else {
        home->advance_and_wait_for(*this);
      }
      if (is_over(number)) break;
    }
    return true;
  }
  void await_idle() {
    std::unique_lock lock(mutex_);
    const std::uint64_t last = started_;
    lock.unlock();
    (void)await(last);
  }

  [[nodiscard]] std::exception_ptr take_failure(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto failure = failures_.extract(number);
    return failure.empty() ? nullptr : failure.mapped();
  }

  void stop() noexcept {
    await_idle();
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

 private:
  [[nodiscard]] std::shared_ptr<core::Progress> home() {
    const std::lock_guard lock(mutex_);
    return home_;
  }

  void run() noexcept override {
    try {
      worker_.run();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void finish() noexcept override {
    const std::lock_guard lock(mutex_);
    conclude();
  }
  // Under the lock.
  void conclude() {
    if (failure_) failures_.emplace(started_, std::exchange(failure_, nullptr));
    finished_.store(started_, std::memory_order_release);
    changed_.notify_all();
  }

  void make_thread() {
    // Signals are for the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] {
      core::say_thread_is_beside_caller();
      std::unique_lock held(mutex_);
      for (;;) {
        changed_.wait(held, [&] { return stopping_ || (home_ == nullptr && started_ > finished_); });
        if (stopping_) return;
        held.unlock();
        run();
        held.lock();
        conclude();
      }
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  Worker& worker_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t started_ = 0;
  // Written under the lock, so that nobody sleeps over it; read without, hence the release that pairs with the acquire
  // in is_over(): what the run wrote is there for who sees its number.
  std::atomic<std::uint64_t> finished_{0};
  std::exception_ptr failure_;                            // of the run under way
  std::map<std::uint64_t, std::exception_ptr> failures_;  // that nobody has heard of yet
  std::shared_ptr<core::Progress> home_;  // that brings the run forward; the thread does where it is null
  bool stopping_ = false;
  core::ForkGuard guard_;
  std::thread thread_;
};

Worker::Worker() : state_(std::make_unique<State>(*this)) {}

Worker::~Worker() {
  // A forked child has no thread to join; what it would have to wake is not there either.
  if (!state_->in_forked_child()) return;
  [[maybe_unused]] const auto* const left_alone = state_.release();
}

std::uint64_t Worker::start(Drive drive) {
  return state_->start(drive);
}

void Worker::await_idle() noexcept {
  state_->await_idle();
}

bool Worker::test(std::uint64_t number) {
  if (state_->is_over(number)) return true;
  state_->advance();
  return state_->is_over(number);
}

void Worker::bring_forward(std::uint64_t number, const std::atomic<bool>& far_enough) {
  const auto deadline = Clock::now() + moment;
  // Acquire: pairs with the release of whoever made it.
  while (!far_enough.load(std::memory_order_acquire) && !test(number) && Clock::now() < deadline) {
    std::this_thread::yield();
  }
}

void Worker::wait(std::uint64_t number) {
  (void)state_->await(number);
  if (const auto failure = state_->take_failure(number)) std::rethrow_exception(failure);
}

void Worker::drop(std::uint64_t number, bool unwinding) noexcept {
  if (state_->in_forked_child()) return;
  if (!unwinding) {
    (void)state_->await(number);
  } else if (!state_->await(number, Clock::now() + core::grace_while_unwinding)) {
    core::warn(
        "an exception passes through while an operation is under way that other ranks do not join; its buffers "
        "are about to go, so the job is ended");
    abort_job();
  }
  (void)state_->take_failure(number);
}

void Worker::stop() noexcept {
  if (!state_->in_forked_child()) state_->stop();
}

}  // namespace cobre::comm::detail
