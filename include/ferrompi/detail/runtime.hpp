// What every call asks first: is MPI up, and may this thread call it?
#pragma once

#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/thread_level.hpp>

#include <atomic>
#include <exception>
#include <functional>

namespace ferrompi::detail {

// True from the moment this library knows of a running MPI until MPI_Finalize begins. Relaxed loads suffice: MPI
// itself requires that a thread which uses MPI was synchronised with the one that initialised it, and a use that
// races with finalize is an error in the program that this flag reports on a best-effort basis.
extern std::atomic<bool> mpi_is_up;

/// The largest tag that this MPI library accepts; written before `mpi_is_up`.
extern int largest_tag;

/// Between MPI_Init and MPI_Finalize, whoever called them.
[[nodiscard]] bool mpi_is_usable() noexcept;

/// Makes the library aware of a running MPI: reads the thread level, remembers the main thread, and asks MPI to tell
/// when it finalizes. Cheap when already done; throws when MPI is not running.
void attach(const char* operation);

/// The granted thread level; meaningful once attached.
[[nodiscard]] ThreadLevel thread_level() noexcept;

[[noreturn, gnu::cold, gnu::noinline]] void throw_not_running(const char* operation);

/// Throws when the calling thread breaks the rule of the granted thread level. True means: call `leave_call` after.
[[nodiscard]] bool enter_call(const char* operation);
void leave_call() noexcept;

// What depends on a compile-time switch lives in a namespace named after it, so that files compiled with different
// switches may be linked into one program.
inline namespace FERROMPI_VARIANT {

FERROMPI_INLINE void require_running([[maybe_unused]] const char* operation) {
#if FERROMPI_CHECKS
  if (!mpi_is_up.load(std::memory_order_relaxed)) [[unlikely]] {
    throw_not_running(operation);
  }
#endif
}

#if FERROMPI_THREAD_CHECKS
/// Held around every MPI call.
class CallGuard {
 public:
  explicit CallGuard(const char* operation) : entered_(enter_call(operation)) {}
  ~CallGuard() {
    if (entered_) leave_call();
  }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

 private:
  bool entered_;
};
#else
class CallGuard {
 public:
  FERROMPI_INLINE explicit CallGuard(const char*) noexcept {}
};
#endif

}  // namespace FERROMPI_VARIANT

/// Tells a destructor whether it runs because of an exception that was thrown after its object was made. Copying or
/// moving the owner makes a new object, so the count is taken anew.
class UnwindingDetector {
 public:
  UnwindingDetector() noexcept : at_construction_(std::uncaught_exceptions()) {}
  UnwindingDetector(const UnwindingDetector&) noexcept : UnwindingDetector() {}
  UnwindingDetector& operator=(const UnwindingDetector&) noexcept { return *this; }
  [[nodiscard]] bool unwinding() const noexcept { return std::uncaught_exceptions() > at_construction_; }

 private:
  int at_construction_;
};

/// For a destructor that would have to wait for other ranks while an exception passes through. Ends the job, because
/// the other ranks may wait for this one for ever: says so on stderr, gives the program a moment in which its handler
/// can say why, and aborts at the latest when the process exits. From here on MPI is not usable, so later destructors
/// leave it alone. `what` names the object, such as "an Mpi".
void end_job_while_unwinding(const char* what) noexcept;

/// Runs `action` at the start of MPI_Finalize, the latest first: to free what must not outlive MPI.
void run_at_finalize(std::function<void()> action);

}  // namespace ferrompi::detail
