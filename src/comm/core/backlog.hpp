// What has been begun on a communicator, in its order, and is done by somebody who does not hold up the program: the
// making of its lanes. An operation that is called later must not overtake it, or ranks would count them differently.
//
//   keep (the program)  ──▶  wait for those before  ──▶  at it  ──▶  done
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "comm/core/progress.hpp"

namespace cobre::comm::core {

class Backlog {
 public:
  /// For who begins an operation: everything before it is done. Asked at each one, so that it must cost nothing.
  void clear() {
    // Acquire: pairs with the release of finish(); what was done is seen. Only who keeps places makes it non-zero, and
    // that is the thread whose turn the communicator is, so a zero is never stale.
    if (pending_.load(std::memory_order_acquire) != 0) [[unlikely]]
      wait_until_clear();
  }

  [[nodiscard]] std::uint64_t keep();
  /// Waits for those before; from then on clear() lets the caller pass.
  void take(std::uint64_t number);
  void finish() noexcept;

 private:
  [[gnu::cold]] void wait_until_clear();
  [[nodiscard]] std::shared_ptr<Progress> home();
  template <class Condition>
  void wait_until(const Condition& condition);

  std::atomic<std::uint64_t> pending_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<const void*> at_it_{nullptr};  // which stack
  std::mutex mutex_;
  std::shared_ptr<Progress> home_;  // of the thread that kept the places, which is one for all that are pending
};

}  // namespace cobre::comm::core
