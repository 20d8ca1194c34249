#include "comm/core/backlog.hpp"

#include <cobre/comm/detail/kept_place.hpp>

#include <utility>

#include "comm/core/rest.hpp"

namespace cobre::comm {
namespace core {
namespace {

// Tells fibers and threads apart.
const void* this_stack() noexcept {
  static constinit thread_local char of_thread = 0;
  if (fiber_detail::running != nullptr) return fiber_detail::running;
  return &of_thread;
}

}  // namespace

std::uint64_t Backlog::keep() {
  const auto& own = Progress::of_this_thread();
  // What another thread has begun may go on in its calls alone, and ours would wait behind it.
  if (home() != own) wait_until_clear();
  const std::lock_guard lock(mutex_);
  home_ = own;
  // Under the lock, so the two agree: the places before this one are those that are pending.
  return done_.load(std::memory_order_relaxed) + pending_.fetch_add(1, std::memory_order_relaxed);
}

std::shared_ptr<Progress> Backlog::home() {
  const std::lock_guard lock(mutex_);
  return home_;
}

void Backlog::take(std::uint64_t number) {
  // Acquire: pairs with the release of finish(), by whoever was at it before.
  wait_until([&] { return done_.load(std::memory_order_acquire) == number; });
  at_it_.store(this_stack(), std::memory_order_relaxed);  // another stack sees anything but its own, which is enough
}

void Backlog::finish() noexcept {
  at_it_.store(nullptr, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  done_.fetch_add(1, std::memory_order_release);     // pairs with take()
  pending_.fetch_sub(1, std::memory_order_release);  // pairs with clear()
}

void Backlog::wait_until_clear() {
  if (at_it_.load(std::memory_order_relaxed) == this_stack()) return;
  wait_until([&] { return pending_.load(std::memory_order_acquire) == 0; });
}

// Whoever kept the place may be another thread, or this one: what it has under way goes on here.
template <class Condition>
void Backlog::wait_until(const Condition& condition) {
  for (Rest rest; !condition();) {
    if (footing() == Footing::Fiber) {
      leave_fiber();
      continue;
    }
    if (footing() == Footing::Thread) {
      if (const auto home = this->home()) (void)home->advance();
      if (condition()) return;
    }
    (void)give_way();
    rest.take();
  }
}

}  // namespace core

namespace detail {

// Through another constructor, so that places are given back where there is no memory for the next.
KeptPlace::KeptPlace(std::vector<std::shared_ptr<core::Backlog>> backlogs) : KeptPlace() {
  tickets_.reserve(backlogs.size());
  for (auto& backlog : backlogs) {
    const std::uint64_t number = backlog->keep();
    tickets_.push_back({std::move(backlog), number});
  }
}

KeptPlace::~KeptPlace() {
  if (!taken_) take();  // nobody may be counted out of order
  for (const auto& ticket : tickets_) ticket.backlog->finish();
}

void KeptPlace::take() {
  for (const auto& ticket : tickets_) ticket.backlog->take(ticket.number);
  taken_ = true;
}

}  // namespace detail
}  // namespace cobre::comm
