// A group of processes that talk to each other.
#pragma once

#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/error.hpp>

#include <optional>
#include <string>
#include <utility>

namespace ferrompi {

class Info;
class TopologyInfo;

/// Move-only, because copying one is a collective operation: that is spelled `duplicate()`. A moved-from communicator
/// refuses every operation with ErrorClass::Comm.
class [[nodiscard]] Communicator {
 public:
  /// Takes over a communicator that the caller made: sets MPI_ERRORS_RETURN on it and frees it in the destructor.
  static Communicator adopt(MPI_Comm comm);
  /// A view of a communicator that somebody else owns. Nothing about it is changed: errors come as exceptions only
  /// if its error handler is MPI_ERRORS_RETURN.
  static Communicator borrow(MPI_Comm comm);

  Communicator(Communicator&& other) noexcept
      : native_(std::exchange(other.native_, MPI_COMM_NULL)),
        rank_(std::exchange(other.rank_, 0)),
        size_(std::exchange(other.size_, 0)),
        owned_(std::exchange(other.owned_, false)) {}
  Communicator& operator=(Communicator&& other) noexcept;
  ~Communicator();

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] MPI_Comm native() const noexcept { return native_; }

  /// Collective. Who runs where, on which MPI, in which Slurm job; include <ferrompi/topology.hpp> to use it.
  [[nodiscard]] TopologyInfo topology() const;

 private:
  Communicator(MPI_Comm native, bool owned, const char* operation);
  void release() noexcept;

  MPI_Comm native_;
  int rank_ = 0;
  int size_ = 0;
  bool owned_;
  detail::UnwindingDetector unwinding_;
};

}  // namespace ferrompi
