// Operations under way that go on when the thread that started them comes by: in test() and wait(), and wherever it
// waits for something else.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/core/errand.hpp"
#include "comm/core/fiber.hpp"

namespace cobre::comm::core {

/// An operation on a fiber of its own.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

 private:
  friend class Progress;
  virtual void run() noexcept = 0;
  /// It is over; called by whoever brought it to its end, off the fiber.
  virtual void finish() noexcept = 0;

  Fiber fiber_;
};

/// What one thread has under way. Any thread may bring the tasks forward: one at a time, under the lock.
class Progress {
 public:
  [[nodiscard]] static const std::shared_ptr<Progress>& of_this_thread();

  /// As far as it goes without waiting.
  void start(Task& task);
  /// All, as far as they go without waiting, but for tasks that another thread is at. Whether an errand moved.
  bool advance();
  /// The same for a caller that waits for `task` and has nothing else to do: where that is the only one, and of this
  /// thread, it is brought to its end as a blocking operation would.
  void advance_and_wait_for(Task& task);

  [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0 && errands_.empty(); }
  [[nodiscard]] Errands& errands() noexcept { return errands_; }

 private:
  void settle();

  std::mutex mutex_;
  std::thread::id home_ = std::this_thread::get_id();
  std::vector<Task*> tasks_;
  std::atomic<std::size_t> count_{0};  // of the tasks, for who asks without the lock: its own thread adds to it
  Errands errands_;
};

/// Whether who waits here must come back soon, because something else needs this thread to go on.
[[nodiscard]] bool has_other_work() noexcept;

/// Whether the caller runs an operation for which whoever started it does not wait: on a fiber, or on a thread that
/// says so.
[[nodiscard]] bool is_beside_caller() noexcept;
void say_thread_is_beside_caller() noexcept;

/// Where something is waited for, in place of an idle turn: lets what is under way go on, or another process run.
/// Whether messages moved, so that it is worth to come back at once.
bool give_way();

/// The same in the place of a sleep, until something is so or the time has come: who waits has other work, and comes
/// back to it as often as that needs.
template <class Condition>
void give_way_until(const Condition& condition, std::chrono::steady_clock::time_point deadline) {
  do {
    if (!give_way() && footing() == Footing::Thread) std::this_thread::sleep_for(std::chrono::microseconds(50));
  } while (!condition() && std::chrono::steady_clock::now() < deadline);
}

}  // namespace cobre::comm::core
