// The part of a window that does not depend on its element type: the segments, which epoch is open, and every call of
// MPI. The templates above it turn ranges into addresses and counts, and no more.
#pragma once

#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/info.hpp>
#include <ferrompi/window/options.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace ferrompi {

class Communicator;

namespace detail {

struct WindowShape {
  std::size_t count;         ///< elements of this rank
  std::size_t element_size;  ///< in bytes
  std::size_t alignment;     ///< of an element
  WindowLayout layout;
};

/// What one rank contributed.
struct WindowSegment {
  std::byte* base = nullptr;  ///< in the address space of this process; null where count is 0
  std::size_t count = 0;      ///< what the rank asked for, whatever the library rounded it to
  MPI_Aint place = 0;         ///< of `base` in the rank's MPI segment, in displacement units
  bool locked = false;        ///< by this process, by a lock of this rank alone
};

[[noreturn]] void throw_moved_from_window(const char* operation);

/// Shared by a window, its guards and its targets: a window may be moved while they live, and after its end they
/// fail with a message instead of touching it.
class WindowState {
 public:
  /// Collective. Every rank succeeds or every rank throws.
  static std::shared_ptr<WindowState> allocate(const Communicator& comm, const WindowShape& shape, const Info& info);

  ~WindowState();
  WindowState(const WindowState&) = delete;
  WindowState& operator=(const WindowState&) = delete;

  /// Collective: ends the epochs that are still open and frees the window.
  void close(const UnwindingDetector& owner) noexcept;

  [[nodiscard]] MPI_Win native() const noexcept { return win_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] const WindowSegment& local() const noexcept { return segments_[static_cast<std::size_t>(rank_)]; }
  [[nodiscard]] const WindowSegment& segment(int rank, const char* operation) const;

  void fence(FenceAssert assertion);
  void lock(LockType type, int rank);
  void unlock(int rank);
  void lock_all();
  void unlock_all();
  void flush(int rank);
  void flush_local(int rank);
  void flush_all();
  void flush_local_all();
  void sync();

  // Arguments in the order that MPI has, so that those which only pass through hardly move between registers. Offsets
  // and counts in elements; the origin stays in use until the epoch, or a flush, completes the operation.
  void put(const void* origin, std::size_t count, int rank, std::size_t offset);
  void get(void* origin, std::size_t count, int rank, std::size_t offset);
  void accumulate(const void* origin, std::size_t count, MPI_Datatype type, int rank, std::size_t offset, MPI_Op op);
  void fetch_accumulate(const void* origin, std::size_t count, MPI_Datatype type, void* result, int rank,
                        std::size_t offset, MPI_Op op);
  // One element, complete on return; these need a lock.
  void fetch_op(const void* origin, void* result, MPI_Datatype type, int rank, std::size_t offset, MPI_Op op);
  void compare_and_swap(const void* desired, const void* expected, void* result, MPI_Datatype type, int rank,
                        std::size_t offset);

 private:
  friend class WindowCall;
  struct Attempt;

  WindowState() = default;
  void require_open(const char* operation) const;
  void require_rank(int rank, const char* operation) const;
  void require_no_lock(const char* operation) const;
  void require_no_pending_operation(const char* operation) const;
  void require_lock(int rank, const char* operation) const;
  template <class Flush>
  void flush_with(Flush flush, int rank, const char* operation);
  /// What an operation needs to be open before it: any epoch that reaches its target, or a lock on it.
  enum class Needs { Epoch, Lock };
  template <class Move>
  void by_pieces(std::size_t count, int rank, std::size_t offset, std::size_t most, const char* operation, Move move);
  MPI_Aint begin_access(std::size_t count, int rank, std::size_t offset, Needs needs, const char* operation);

  MPI_Win win_ = MPI_WIN_NULL;
  int rank_ = 0;
  int size_ = 0;
  std::size_t element_size_ = 1;
  std::size_t units_per_element_ = 1;  // in which displacements count
  std::size_t most_at_once_ = 1;       // elements whose bytes one call of MPI counts
  std::vector<WindowSegment> segments_;

  // Epochs of this process. A fence opens one that lasts until the next fence; a lock opens one for its rank.
  int locks_held_ = 0;
  bool all_locked_ = false;
  bool fenced_ = false;
  bool pending_ = false;  // an operation was issued since the last fence, and only a fence completes it
  std::atomic<bool> busy_{false};
};

}  // namespace detail
}  // namespace ferrompi
