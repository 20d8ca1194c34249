// What every call asks first: is MPI up, and may this thread call it?
#pragma once

#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/thread_level.hpp>

#include <atomic>
#include <exception>

namespace ferrompi::detail {

// True from the moment this library knows of a running MPI until MPI_Finalize begins. Relaxed loads suffice: MPI
// itself requires that a thread which uses MPI was synchronised with the one that initialised it, and a use that
// races with finalize is an error in the program that this flag reports on a best-effort basis.
extern std::atomic<bool> mpi_is_up;

/// Between MPI_Init and MPI_Finalize, whoever called them.
[[nodiscard]] bool mpi_is_usable() noexcept;

/// Makes the library aware of a running MPI: reads the thread level, remembers the main thread, and asks MPI to tell
/// when it finalizes. Cheap when already done; throws when MPI is not running.
void attach(const char* operation);

/// The granted thread level; meaningful once attached.
[[nodiscard]] ThreadLevel thread_level() noexcept;

[[noreturn, gnu::cold, gnu::noinline]] void throw_not_running(const char* operation);

inline void require_running([[maybe_unused]] const char* operation) {
#if FERROMPI_CHECKS
  if (!mpi_is_up.load(std::memory_order_relaxed)) [[unlikely]] {
    throw_not_running(operation);
  }
#endif
}

#if FERROMPI_THREAD_CHECKS
/// Held around every MPI call: throws when the calling thread breaks the rule of the granted thread level.
class CallGuard {
 public:
  explicit CallGuard(const char* operation);
  ~CallGuard();
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

 private:
  bool serialized_;
};
#else
class CallGuard {
 public:
  explicit CallGuard(const char*) noexcept {}
};
#endif

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

/// For a destructor that would have to wait for other ranks while an exception passes through: reports the cause on
/// stderr and ends the job, because the other ranks would wait for ever. `what` names the object, such as "an Mpi".
[[noreturn]] void abort_while_unwinding(const char* what, MPI_Comm comm) noexcept;

/// Frees the handle at the start of MPI_Finalize.
void free_type_at_finalize(MPI_Datatype type);
void free_op_at_finalize(MPI_Op op);

}  // namespace ferrompi::detail
