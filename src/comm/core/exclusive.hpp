// One operation at a time: two threads in one communicator would count its operations differently.
#pragma once

#include <cobre/comm/errors.hpp>

#include <atomic>

namespace cobre::comm::core {

/// Checked in debug builds, for the length of an operation.
class Exclusive {
 public:
  Exclusive([[maybe_unused]] std::atomic<bool>& busy, [[maybe_unused]] const Where& where) : busy_(busy) {
#ifndef NDEBUG
    if (busy.exchange(true, std::memory_order_acquire)) {  // pairs with the release below
      throw InvalidOperation(where,
                             "another thread is inside an operation of this communicator; give each thread its "
                             "own communicator, or take turns");
    }
#endif
  }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;
  ~Exclusive() {
#ifndef NDEBUG
    busy_.store(false, std::memory_order_release);
#endif
  }

 private:
  [[maybe_unused]] std::atomic<bool>& busy_;
};

}  // namespace cobre::comm::core
