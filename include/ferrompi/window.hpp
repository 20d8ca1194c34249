// Memory that the ranks of one host share.
#pragma once

#include <ferrompi/datatype.hpp>
#include <ferrompi/error.hpp>
#include <ferrompi/info.hpp>
#include <ferrompi/window/guard.hpp>
#include <ferrompi/window/options.hpp>
#include <ferrompi/window/state.hpp>
#include <ferrompi/window/target.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>

namespace ferrompi {

/// Every rank allocates a segment, and every rank can load from and store to all of them:
///
///     auto node = world.split_shared();
///     auto win = SharedWindow<double>::allocate(node, n);
///     std::ranges::fill(win.local(), 1.0);
///     win.fence();                                   // what was stored before is seen by all after
///     double x = win.remote(0)[0];
///
/// Plain access is as free as memory, and as unprotected: MPI only orders it. A store is seen by another rank's load
/// after a `fence()` of both; or after the guard under which it was made ended and the reader took its own; or after
/// `sync()`, a barrier, and `sync()` by the reader. Spans may be kept across epochs, but not beyond the window.
///
/// Not for several threads at once; debug builds check that. Destruction is collective, and happens at the latest when
/// MPI is finalized; a window that an exception destroys ends the job, because the other ranks would wait for ever.
/// Move-only; guards survive a move.
template <class T>
class [[nodiscard]] SharedWindow {
  static_assert(Datatype<T>,
                "a SharedWindow holds what ferrompi can send: describe the type with FERROMPI_DATATYPE(Type, member, "
                "...), or specialise ferrompi::send_as_bytes<Type>");
  static_assert(sizeof(T) <= std::numeric_limits<int>::max(), "MPI counts the bytes of an element in an int");

 public:
  /// Collective over the ranks of `comm`, which must share memory. Counts may differ and may be 0. The contents are
  /// not initialised, so that the rank that first touches a page decides where it lies.
  ///
  /// If anything is wrong on one rank, every rank throws: InvalidBuffer where the bytes overflow, MpiError with
  /// ErrorClass::NoMem where there is not enough shared memory.
  static SharedWindow allocate(const Communicator& comm, std::size_t local_count, const Info& info = Info::null(),
                               WindowLayout layout = WindowLayout::Contiguous) {
    return SharedWindow(detail::WindowState::allocate(comm, {local_count, sizeof(T), alignof(T), layout}, info));
  }
  static SharedWindow allocate(const Communicator& comm, std::size_t local_count, WindowLayout layout) {
    return allocate(comm, local_count, Info::null(), layout);
  }

  SharedWindow(SharedWindow&& other) noexcept : state_(std::move(other.state_)) {}
  SharedWindow& operator=(SharedWindow&& other) noexcept {
    if (this != &other) {
      close();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~SharedWindow() { close(); }

  /// This rank's segment.
  [[nodiscard]] std::span<T> local() & { return span_of<T>(state("local").local()); }
  [[nodiscard]] std::span<const T> local() const& { return span_of<const T>(state("local").local()); }
  std::span<T> local() && = delete;
  std::span<const T> local() const&& = delete;

  /// The segment of any rank, with the length that it asked for.
  [[nodiscard]] std::span<T> remote(int rank) & { return span_of<T>(state("remote").segment(rank, "remote")); }
  [[nodiscard]] std::span<const T> remote(int rank) const& {
    return span_of<const T>(state("remote").segment(rank, "remote"));
  }
  std::span<T> remote(int) && = delete;
  std::span<const T> remote(int) const&& = delete;

  [[nodiscard]] int comm_size() const { return state("comm_size").size(); }
  [[nodiscard]] int comm_rank() const { return state("comm_rank").rank(); }

  /// Collective. Completes all operations, orders all plain access, and opens the next epoch.
  void fence(FenceAssert assertion = FenceAssert::None) { state("fence").fence(assertion); }

  /// Waits until this process has the lock on `rank`'s segment. Throws ErrorClass::RmaSync if it holds one already, or
  /// if operations that were started since the last fence still wait for the next.
  LockGuard<T> lock(LockType type, int rank) & {
    state("lock").lock(type, rank);
    return {state_, type, rank};
  }
  LockGuard<T> lock(LockType, int) && = delete;

  /// A shared lock on every rank.
  LockAllGuard<T> lock_all() & {
    state("lock_all").lock_all();
    return LockAllGuard<T>(state_);
  }
  LockAllGuard<T> lock_all() && = delete;

  /// Orders this process's loads and stores before it against those after it, for the eyes of other ranks.
  void sync() { state("sync").sync(); }

  /// Operations on one rank, between two fences.
  [[nodiscard]] WindowTarget<T> target(int rank) & {
    static_cast<void>(state("target").segment(rank, "target"));
    return {state_, rank};
  }
  WindowTarget<T> target(int) && = delete;

  /// The hints that the MPI library has taken, which may be fewer or more than were given.
  [[nodiscard]] Info info() const { return state("info").info(); }
  /// Collective. Gives hints to the MPI library, which may leave out any; a null Info is refused.
  void set_info(const Info& info) { state("set_info").set_info(info); }

  /// MPI_WIN_NULL once moved from. Displacements count elements, but bytes where the library could not align them.
  [[nodiscard]] MPI_Win native() const noexcept { return state_ ? state_->native() : MPI_WIN_NULL; }

 private:
  explicit SharedWindow(std::shared_ptr<detail::WindowState> state) noexcept : state_(std::move(state)) {}

  void close() noexcept {
    if (state_) state_->close(unwinding_);
  }

  [[nodiscard]] detail::WindowState& state(const char* operation) const {
    if (!state_) [[unlikely]] {
      detail::throw_moved_from_window(operation);
    }
    return *state_;
  }

  template <class Element>
  [[nodiscard]] static std::span<Element> span_of(const detail::WindowSegment& segment) noexcept {
    return {reinterpret_cast<Element*>(segment.base), segment.count};
  }

  std::shared_ptr<detail::WindowState> state_;
  detail::UnwindingDetector unwinding_;
};

}  // namespace ferrompi
