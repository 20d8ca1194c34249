// Held around every call of a window: a window is not for several threads at once, at any thread level.
#pragma once

#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/error.hpp>
#include <ferrompi/window/state.hpp>

namespace ferrompi::detail {

class WindowCall {
 public:
#if FERROMPI_THREAD_CHECKS
  WindowCall(WindowState& state, const char* operation) : mpi_(operation), state_(state) {
    // Acquire pairs with the release below: a correct hand-over of the window between threads stays correct here.
    if (state_.busy_.exchange(true, std::memory_order_acquire)) {
      throw MpiError(operation, ErrorClass::Win,
                     "two threads use one window at once: give each its own window, or take a lock around the calls");
    }
  }
  ~WindowCall() {
    state_.busy_.store(false, std::memory_order_release);
  }
  WindowCall(const WindowCall&) = delete;
  WindowCall& operator=(const WindowCall&) = delete;

 private:
  CallGuard mpi_;
  WindowState& state_;
#else
  WindowCall(WindowState&, const char*) noexcept {}
#endif
};

}  // namespace ferrompi::detail
