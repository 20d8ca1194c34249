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
  MPI_Aint padding = 0;       ///< bytes from the start of the rank's MPI segment to `base`
};

/// Some elements of one rank.
struct WindowRange {
  int rank;
  std::size_t offset;
  std::size_t count;
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
  [[nodiscard]] int size() const noexcept { return static_cast<int>(segments_.size()); }
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

  // Element counts; the origin stays in use until the epoch, or a flush, completes the operation.
  void put(const void* origin, const WindowRange& target);
  void get(void* origin, const WindowRange& target);
  void accumulate(const void* origin, MPI_Datatype type, MPI_Op op, const WindowRange& target);
  void fetch_accumulate(const void* origin, void* result, MPI_Datatype type, MPI_Op op, const WindowRange& target);
  // One element, complete on return; these need a lock.
  void fetch_op(const void* origin, void* result, MPI_Datatype type, MPI_Op op, const WindowRange& target);
  void compare_and_swap(const void* expected, const void* desired, void* result, MPI_Datatype type,
                        const WindowRange& target);

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
  template <class Transfer>
  void transfer(const WindowRange& target, Needs needs, std::size_t weight, const char* operation, Transfer call_mpi);
  MPI_Aint begin_access(const WindowRange& target, Needs needs, const char* operation);

  MPI_Win win_ = MPI_WIN_NULL;
  int rank_ = 0;
  std::size_t element_size_ = 1;
  std::size_t displacement_unit_ = 1;
  std::vector<WindowSegment> segments_;

  // Epochs of this process. A fence opens one that lasts until the next fence; a lock opens one for its rank.
  std::vector<unsigned char> locks_;
  int locks_held_ = 0;
  bool all_locked_ = false;
  bool fenced_ = false;
  bool pending_ = false;  // an operation was issued since the last fence, and only a fence completes it
  std::atomic<bool> busy_{false};
};

}  // namespace detail
}  // namespace ferrompi
