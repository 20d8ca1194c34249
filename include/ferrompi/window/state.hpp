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
  void unlock_quietly(int rank) noexcept;
  void lock_all();
  void unlock_all();
  void unlock_all_quietly() noexcept;
  void flush(int rank);
  void flush_local(int rank);
  void flush_all(const char* operation);
  void flush_local_all();
  void sync();
  [[nodiscard]] Info info();
  void set_info(const Info& info);

  // Arguments in the order that MPI has, and the window where MPI wants something that is worked out: what only passes
  // through stays in its register. Offsets and counts in elements; the origin stays in use until the epoch, or a flush,
  // completes the operation.
  static void put(const void* origin, std::size_t count, WindowState& window, int rank, std::size_t offset);
  static void get(void* origin, std::size_t count, WindowState& window, int rank, std::size_t offset);
  static void accumulate(const void* origin, std::size_t count, MPI_Datatype type, int rank, std::size_t offset,
                         MPI_Op op, WindowState& window);
  static void fetch_accumulate(const void* origin, std::size_t count, MPI_Datatype type, void* result,
                               WindowState& window, int rank, std::size_t offset, MPI_Op op);
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
  void require_lock(int rank, const char* operation) const;
  [[noreturn, gnu::cold]] void refuse_lock(const char* operation) const;
  // Of a lock: inside of the window, from where it is ended and told of, or not.
  void end_lock(int rank);
  void end_lock_all();
  template <class End>
  void end_quietly(End end) noexcept;
  template <class Flush>
  void flush_with(Flush flush, int rank, const char* operation);
  /// What an operation needs to be open before it: any epoch that reaches its target, or a lock on it.
  enum class Needs { Epoch, Lock };
  struct Access {
    std::size_t count;
    int rank;
    std::size_t offset;
    Needs needs;
    const char* operation;
  };
  template <class Move>
  struct Transfer;
  [[nodiscard]] bool begin_access(const Access& access);
  void require_access(const Access& access);
  [[nodiscard]] MPI_Aint place_of(const Access& access) const noexcept;
  [[noreturn, gnu::cold]] void refuse_access(const Access& access) const;

  MPI_Win win_ = MPI_WIN_NULL;
  int rank_ = 0;
  int size_ = 0;
  std::size_t element_size_ = 1;
  std::size_t units_per_element_ = 1;  // in which displacements count
  std::size_t most_at_once_ = 1;       // elements whose bytes one call of MPI counts
  std::vector<WindowSegment> segments_;

  // What a call looks at first: together, so that one comparison tells whether anything is in its way.
  enum Fact : unsigned {
    None = 0,
    Gone = 1,  // not made yet, or freed: then no epoch is open
    AllLocked = 2,
    Fenced = 4,   // a fence opened an epoch, which lasts until the next fence
    Pending = 8,  // an operation was issued since the last fence, and only a fence completes it
  };
  [[nodiscard]] bool is(unsigned any_of) const noexcept { return (facts_ & any_of) != 0; }

  unsigned facts_ = Gone;
  int locks_held_ = 0;  // each of one rank
  std::atomic<bool> busy_{false};
};

}  // namespace detail
}  // namespace ferrompi
