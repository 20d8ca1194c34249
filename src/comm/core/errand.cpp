#include "comm/core/errand.hpp"

#include <sched.h>

#include <algorithm>
#include <exception>

#include "comm/core/progress.hpp"

namespace cobre::comm::core {

Errand::~Errand() {
  if (home_ == nullptr) return;
  const std::lock_guard lock(home_->mutex_);
  std::erase(home_->list_, this);
}

void Errand::hand_in() noexcept {
  // Another thread may come by where it stands, and it is counted once.
  (void)take_back();
  try {
    const auto& thread = Progress::of_this_thread();
    Errands& errands = thread->errands();
    if (home_.get() != &errands) {
      if (home_ != nullptr) {
        const std::lock_guard lock(home_->mutex_);
        std::erase(home_->list_, this);
      }
      home_.reset();
      const std::lock_guard lock(errands.mutex_);
      errands.list_.push_back(this);
      home_ = {thread, &errands};
    }
  } catch (const std::exception&) {
    return;
  }
  home_->waiting_.fetch_add(1, std::memory_order_relaxed);
  state_.store(State::Waiting, std::memory_order_release);  // pairs with the acquire in come_by()
}

bool Errand::recall() noexcept {
  for (;;) {
    State found = State::Waiting;
    // Acquire: pairs with the release in come_by().
    if (state_.compare_exchange_strong(found, State::Resting, std::memory_order_acquire)) break;
    if (found == State::Resting) return true;
    (void)sched_yield();  // another thread is at it, which takes no longer than to move some bytes
  }
  home_->waiting_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

bool Errand::come_by() noexcept {
  State found = State::Waiting;
  if (!state_.compare_exchange_strong(found, State::Advancing, std::memory_order_acquire)) return false;
  const Step step = advance();
  if (step == Step::Done) home_->waiting_.fetch_sub(1, std::memory_order_relaxed);
  state_.store(step == Step::Done ? State::Resting : State::Waiting, std::memory_order_release);
  return step != Step::Still;
}

bool Errands::advance() noexcept {
  if (empty()) return false;
  const std::lock_guard lock(mutex_);
  return std::ranges::count_if(list_, [](Errand* errand) { return errand->come_by(); }) > 0;
}

}  // namespace cobre::comm::core
