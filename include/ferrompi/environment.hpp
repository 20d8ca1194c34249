// The life of MPI in this process.
#pragma once

#include <ferrompi/communicator.hpp>
#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/thread_level.hpp>

#include <string>

namespace ferrompi {

/// Owns MPI: starts it, and finalizes it when it goes. Exactly one exists at a time, and MPI starts at most once in a
/// process.
///
/// If MPI is already running, because another library started it, `init` and `init_thread` adopt it: nothing of its
/// state is changed and it is not finalized here. `world()` and `self()` are then private duplicates, so that errors
/// can be returned without touching the error handlers of MPI_COMM_WORLD and MPI_COMM_SELF, and stay until MPI ends;
/// otherwise they are those two communicators, with MPI_ERRORS_RETURN set.
///
/// Destroyed by an exception, it ends the job with MPI_Abort: finalizing would wait for ranks that wait for this one.
class [[nodiscard]] Mpi {
 public:
  /// Collective over all processes. Asks for ThreadLevel::Single.
  static Mpi init();

  /// Collective over all processes. Throws NotSupported when the library grants less than `required`.
  static Mpi init_thread(ThreadLevel required);

  Mpi(Mpi&& other) noexcept;
  Mpi& operator=(Mpi&&) = delete;
  ~Mpi();

  /// All processes. Each call gives a new view of the same communicator.
  [[nodiscard]] Communicator world() const;
  /// This process alone.
  [[nodiscard]] Communicator self() const;
  /// What the library granted.
  [[nodiscard]] ThreadLevel thread_level() const noexcept;
  /// True if MPI was running before and will be finalized by whoever started it.
  [[nodiscard]] bool adopted() const noexcept { return adopted_; }

  /// Collective over all processes. Ends MPI now and reports errors; later calls and the destructor do nothing.
  void finalize();

  /// Seconds since some moment in the past.
  [[nodiscard]] static double wtime();
  /// Resolution of `wtime` in seconds.
  [[nodiscard]] static double wtick();
  /// The version of the standard, as `MPI 3.1`. Needs no running MPI.
  [[nodiscard]] static std::string version();
  /// What the library says of itself. Needs no running MPI.
  [[nodiscard]] static std::string library_version();
  [[nodiscard]] static bool is_initialized();
  /// Between the two, as far as this library knows: a load and no call.
  [[nodiscard]] static bool is_running() noexcept { return detail::mpi_is_up.load(std::memory_order_relaxed); }
  [[nodiscard]] static bool is_finalized();

 private:
  /// `operation` is the name of the method that was called.
  static Mpi start(ThreadLevel required, const char* operation);
  Mpi(MPI_Comm world, MPI_Comm self, bool adopted) noexcept : world_(world), self_(self), adopted_(adopted) {}

  MPI_Comm world_;
  MPI_Comm self_;
  bool adopted_;
  bool active_ = true;
  detail::UnwindingDetector unwinding_;
};

}  // namespace ferrompi
