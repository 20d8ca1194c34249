// A second stack, on which an operation runs until it has to wait for others; then the caller goes on, and comes back
// to it later. Written once over blocking code: whoever waits there calls give_way() in progress.hpp.
#pragma once

#include <memory>

namespace cobre::comm::core {

class Fiber {
 public:
  /// Whether the one who resumes a fiber would rather wait for its end than have it give way.
  enum class Patience { No, Yes };

  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  /// Nothing may be under way: what stands on the stack would never be destroyed.
  ~Fiber();

  /// Runs `body(argument)`, which throws nothing, until it ends or gives way. Nothing may be under way.
  void start(void (*body)(void*), void* argument);
  /// Goes on after give_way().
  void resume(Patience patience = Patience::No);
  [[nodiscard]] bool done() const noexcept;

  struct Stack;

 private:
  std::unique_ptr<Stack> stack_;
};

/// Where the caller runs.
enum class Footing {
  Thread,        // on no fiber
  Fiber,         // that gives way rather than wait
  PatientFiber,  // that waits, as on a thread
};
[[nodiscard]] inline Footing footing() noexcept;

/// Back to whoever resumed this fiber; returns when it is resumed. Only on a fiber.
void leave_fiber();

namespace fiber_detail {

extern constinit thread_local Fiber::Stack* running;
[[nodiscard]] Footing footing_on(const Fiber::Stack& stack) noexcept;

}  // namespace fiber_detail

inline Footing footing() noexcept {
  const Fiber::Stack* const stack = fiber_detail::running;
  return stack == nullptr ? Footing::Thread : fiber_detail::footing_on(*stack);
}

}  // namespace cobre::comm::core
