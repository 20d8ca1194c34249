#include "comm/core/progress.hpp"

#include <sched.h>

#include <cstddef>

namespace cobre::comm::core {
namespace {

// Apart from the accessor, so that asking whether there is any does not make one.
thread_local std::shared_ptr<Progress> own;

constinit thread_local bool thread_is_beside_caller = false;

}  // namespace

const std::shared_ptr<Progress>& Progress::of_this_thread() {
  if (own == nullptr) own = std::make_shared<Progress>();
  return own;
}

void Progress::start(Task& task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(&task);
  task.fiber_.start([](void* started) { static_cast<Task*>(started)->run(); }, &task);
  settle();
}

bool Progress::advance() {
  const bool moved = home_ == std::this_thread::get_id() && errands_.advance();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return moved;
  for (Task* const task : tasks_) task->fiber_.resume();
  settle();
  return moved;
}

void Progress::advance_and_wait_for(Task& task) {
  {
    const std::lock_guard lock(mutex_);
    const bool alone = tasks_.size() == 1 && tasks_.front() == &task && errands_.empty();
    if (alone && home_ == std::this_thread::get_id()) {
      while (!task.fiber_.done()) task.fiber_.resume(Fiber::Patience::Yes);
      return settle();
    }
  }
  (void)advance();
}

// What is over leaves: out of the list first, for who hears of the end may let the task go.
void Progress::settle() {
  for (std::size_t i = 0; i < tasks_.size();) {
    Task* const task = tasks_[i];
    if (!task->fiber_.done()) {
      ++i;
      continue;
    }
    tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(i));
    task->finish();
  }
  count_.store(tasks_.size(), std::memory_order_relaxed);
}

bool has_other_work() noexcept {
  switch (footing()) {
    case Footing::Thread: return own != nullptr && !own->empty();
    case Footing::Fiber: return true;
    case Footing::PatientFiber: return false;
  }
  return false;
}

bool is_beside_caller() noexcept {
  return footing() != Footing::Thread || thread_is_beside_caller;
}

void say_thread_is_beside_caller() noexcept {
  thread_is_beside_caller = true;
}

bool give_way() {
  const Footing where = footing();
  if (where == Footing::Fiber) {
    leave_fiber();
    return false;
  }
  const bool moved = where == Footing::Thread && own != nullptr && !own->empty() && own->advance();
  (void)sched_yield();
  return moved;
}

}  // namespace cobre::comm::core
