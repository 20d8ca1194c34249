// Epochs of a window. Three rules of MPI are checked before it is called, because libraries answer them with anything
// from an error to a crash: an operation needs an epoch that reaches its target; lock and fence epochs do not overlap;
// a rank is locked once.
//
// Order of loads and stores. A shared window is plain memory, and the C++ compiler and the CPU know nothing of MPI.
// What makes a store of one rank visible to a load of another is a chain: release fence, the library's own store that
// says "done" (to a flag, a lock word, a message), the library's load that sees it on the other side, acquire fence.
// The library's part may be relaxed; the fences here make the chain whole whatever it does inside.
#include <ferrompi/error.hpp>
#include <ferrompi/window/state.hpp>

#include "ferrompi/hints.hpp"
#include "ferrompi/text.hpp"
#include "ferrompi/window_call.hpp"
#include "ferrompi/window_checks.hpp"
#include "ferrompi/window_registry.hpp"

#include <chrono>
#include <cstdio>
#include <optional>
#include <ostream>
#include <thread>

namespace ferrompi {

const char* to_string(WindowLayout layout) noexcept {
  return layout == WindowLayout::Contiguous ? "Contiguous" : "Separate";
}

const char* to_string(LockType type) noexcept {
  return type == LockType::Exclusive ? "Exclusive" : "Shared";
}

std::ostream& operator<<(std::ostream& out, WindowLayout layout) {
  return out << to_string(layout);
}

std::ostream& operator<<(std::ostream& out, LockType type) {
  return out << to_string(type);
}

namespace {

constexpr struct {
  FenceAssert assertion;
  int mpi;
  const char* name;
} assertions[] = {{FenceAssert::NoStore, MPI_MODE_NOSTORE, "NoStore"},
                  {FenceAssert::NoPut, MPI_MODE_NOPUT, "NoPut"},
                  {FenceAssert::NoPrecede, MPI_MODE_NOPRECEDE, "NoPrecede"},
                  {FenceAssert::NoSucceed, MPI_MODE_NOSUCCEED, "NoSucceed"}};

constexpr bool has(FenceAssert set, FenceAssert one) {
  return (set & one) != FenceAssert::None;
}

[[gnu::noinline]] int to_mpi(FenceAssert assertion) {
  int result = 0;
  for (const auto& entry : assertions) {
    if (has(assertion, entry.assertion)) result |= entry.mpi;
  }
  return result;
}

}  // namespace

std::string to_string(FenceAssert assertion) {
  std::string text;
  for (const auto& entry : assertions) {
    if (!has(assertion, entry.assertion)) continue;
    if (!text.empty()) text += '|';
    text += entry.name;
  }
  return text.empty() ? "None" : text;
}

std::ostream& operator<<(std::ostream& out, FenceAssert assertion) {
  return out << to_string(assertion);
}

namespace detail {

namespace {

/// Orders what this process wrote before the library says so, and what it reads after the library heard of others.
class Ordered {
 public:
  Ordered() noexcept { std::atomic_thread_fence(std::memory_order_release); }
  ~Ordered() { std::atomic_thread_fence(std::memory_order_acquire); }
  Ordered(const Ordered&) = delete;
  Ordered& operator=(const Ordered&) = delete;
};

}  // namespace

const WindowSegment& WindowState::segment(int rank, const char* operation) const {
  require_rank(rank, operation);
  return segments_[static_cast<std::size_t>(rank)];
}

// A fence waits for all ranks, unless NoPrecede says that it need not. Stores before it are seen by loads after it.
void WindowState::fence(FenceAssert assertion) {
  const WindowCall call(*this, "fence");
  require_open("fence");
  require_no_lock("fence");
  if (is(Pending) && has(assertion, FenceAssert::NoPrecede)) [[unlikely]] {
    throw_something_precedes();
  }
  const Ordered ordered;
  check(MPI_Win_fence(assertion == FenceAssert::None ? 0 : to_mpi(assertion), win_), "fence");
  facts_ = has(assertion, FenceAssert::NoSucceed) ? None : Fenced;
}

// The holder of an exclusive lock sees what the previous holder stored, because unlock orders before the library gives
// the lock away and lock orders after the library got it.
void WindowState::lock(LockType type, int rank) {
  const WindowCall call(*this, "lock");
  if (is(Gone | AllLocked | Pending)) [[unlikely]] {
    refuse_lock("lock");
  }
  require_running("lock");
  require_rank(rank, "lock");
  auto& held = segments_[static_cast<std::size_t>(rank)].locked;
  if (held) [[unlikely]] {
    throw_nested_lock(rank);
  }
  const Ordered ordered;
  check(MPI_Win_lock(static_cast<int>(type), rank, 0, win_), "lock");
  held = true;
  ++locks_held_;
  facts_ = None;  // a fence after which nothing was issued opened no epoch
}

void WindowState::unlock(int rank) {
  if (!mpi_is_up.load(std::memory_order_relaxed)) return;
  const WindowCall call(*this, "unlock");
  end_lock(rank);
}

void WindowState::end_lock(int rank) {
  auto& held = segments_[static_cast<std::size_t>(rank)].locked;
  if (!held) return;  // a window that is gone ended the epoch before it went
  held = false;
  --locks_held_;
  const Ordered ordered;
  check(MPI_Win_unlock(rank, win_), "unlock");
}

void WindowState::lock_all() {
  const WindowCall call(*this, "lock_all");
  if (is(Gone | AllLocked | Pending)) [[unlikely]] {
    refuse_lock("lock_all");
  }
  require_running("lock_all");
  require_no_lock("lock_all");
  const Ordered ordered;
  check(MPI_Win_lock_all(0, win_), "lock_all");
  facts_ = AllLocked;
}

void WindowState::unlock_all() {
  if (!mpi_is_up.load(std::memory_order_relaxed)) return;
  const WindowCall call(*this, "unlock");
  end_lock_all();
}

void WindowState::end_lock_all() {
  if (!is(AllLocked)) return;
  facts_ = None;
  const Ordered ordered;
  check(MPI_Win_unlock_all(win_), "unlock");
}

// For destructors, which have nobody to tell. Here and not in the guards, whose members need not be in memory if no
// function is given their address. Where the check of the calling thread refuses because another is inside, it is asked
// again: other ranks may wait for the lock.
template <class End>
void WindowState::end_quietly(End end) noexcept {
  if (!mpi_is_up.load(std::memory_order_relaxed)) return;
  using Clock = std::chrono::steady_clock;
  constexpr auto patience = std::chrono::seconds(2);
  std::optional<Clock::time_point> deadline;
  for (bool inside = false; !inside;) {
    try {
      const WindowCall call(*this, "unlock");
      inside = true;
      end();
    } catch (const Error& error) {
      if (inside) return;  // by MPI: there is nothing left to end
      if (!deadline) deadline = Clock::now() + patience;
      // Below that level it is the wrong thread, and will be.
      if (thread_level() < ThreadLevel::Serialized || Clock::now() > *deadline) {
        std::fprintf(stderr,
                     "ferrompi: rank %d of a window: a guard went, but its lock stays until the window goes: %s\n",
                     rank_, error.what());
        return;
      }
      std::this_thread::yield();
    }
  }
}

void WindowState::unlock_quietly(int rank) noexcept {
  end_quietly([this, rank] { end_lock(rank); });
}

void WindowState::unlock_all_quietly() noexcept {
  end_quietly([this] { end_lock_all(); });
}

template <class Flush>
void WindowState::flush_with(Flush flush, int rank, const char* operation) {
  const WindowCall call(*this, operation);
  require_open(operation);
  require_lock(rank, operation);
  const Ordered ordered;
  check(flush(), operation);
}

void WindowState::flush(int rank) {
  flush_with([&] { return MPI_Win_flush(rank, win_); }, rank, "flush");
}
void WindowState::flush_local(int rank) {
  flush_with([&] { return MPI_Win_flush_local(rank, win_); }, rank, "flush_local");
}
void WindowState::flush_all(const char* operation) {
  flush_with([&] { return MPI_Win_flush_all(win_); }, rank_, operation);
}
void WindowState::flush_local_all() {
  flush_with([&] { return MPI_Win_flush_local_all(win_); }, rank_, "flush_local_all");
}

// In the unified model MPI_Win_sync is a memory barrier. MPICH refuses it outside of lock epochs, where a program that
// orders its stores by a barrier of its communicator still needs one; the fence below is what it would do.
void WindowState::sync() {
  const WindowCall call(*this, "sync");
  require_open("sync");
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (is(AllLocked) || locks_held_ > 0) check(MPI_Win_sync(win_), "sync");
}

Info WindowState::info() {
  const WindowCall call(*this, "info");
  require_open("info");
  MPI_Info result = MPI_INFO_NULL;
  check(MPI_Win_get_info(win_, &result), "info");
  return Info::adopt(result);
}

void WindowState::set_info(const Info& info) {
  const WindowCall call(*this, "set_info");
  require_open("set_info");
  require_hints(info, "set_info");
  check(MPI_Win_set_info(win_, info.native()), "set_info");
}

WindowState::~WindowState() {
  forget_open_window(*this);
}

void WindowState::close(const UnwindingDetector& owner) noexcept {
  if (is(Gone)) return;
  if (mpi_is_usable()) {
    // Freeing waits for the other ranks. They will not come if only this one failed.
    if (size() > 1 && owner.unwinding()) {
      end_job_while_unwinding("a SharedWindow");
      return;
    }
    const Ordered ordered;
    if (is(AllLocked)) MPI_Win_unlock_all(win_);
    for (int rank = 0; locks_held_ > 0 && rank < size(); ++rank) {
      if (!segments_[static_cast<std::size_t>(rank)].locked) continue;
      MPI_Win_unlock(rank, win_);
      --locks_held_;
    }
    MPI_Win_free(&win_);
  }
  win_ = MPI_WIN_NULL;
  facts_ = Gone;
  for (auto& segment : segments_) segment = {};  // the memory is gone: no new span of it, and no lock
}

}  // namespace detail
}  // namespace ferrompi
