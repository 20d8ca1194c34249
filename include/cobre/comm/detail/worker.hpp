// Runs one operation after another on behalf of a communicator, and remembers how each of them ended.
#pragma once

#include <cobre/comm/errors.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace cobre::comm::detail {

/// Who brings an operation forward that nobody waits for.
enum class Drive {
  Calls,   // the thread that started it, in test() and wait() and whenever it waits for something else
  Thread,  // one of the library's own
};
/// As COBRE_COMM_PROGRESS says: `calls`, which is the default, or `thread`.
[[nodiscard]] Drive drive_from_environment();

/// Who derives from it says what a run is, and calls stop() in its destructor.
class Worker {
 public:
  Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  virtual ~Worker();

  /// Begins a run, and returns its number. Nothing may be under way: see await_idle().
  std::uint64_t start(Drive drive);
  /// Until whatever is under way is over, however it ends.
  void await_idle() noexcept;

  /// Whether that run is over; brings it forward if it is not.
  [[nodiscard]] bool test(std::uint64_t number);
  /// The same again and again, until `far_enough` or for a moment.
  void bring_forward(std::uint64_t number, const std::atomic<bool>& far_enough);
  /// Waits for the end of that run and throws what it threw: once, to the first who asks.
  void wait(std::uint64_t number);
  /// The same for a request that is dropped: nobody is there to hear what it threw. While an exception passes through,
  /// the other ranks may never come, and nothing but the end of the job helps against waiting for them for ever.
  void drop(std::uint64_t number, bool unwinding) noexcept;

 protected:
  virtual void run() = 0;
  [[noreturn]] virtual void abort_job() = 0;
  void stop() noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace cobre::comm::detail
