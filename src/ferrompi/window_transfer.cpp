// Moving elements in and out of a window by MPI operations.
#include <ferrompi/error.hpp>
#include <ferrompi/window/state.hpp>

#include "ferrompi/text.hpp"
#include "ferrompi/window_call.hpp"

#include <algorithm>

namespace ferrompi::detail {

namespace {

// The most that one call of MPI carries: counts are int, and a piece this large costs nothing to start.
constexpr std::size_t most_per_call = std::size_t{1} << 30;

}  // namespace

MPI_Aint WindowState::begin_access(const WindowRange& target, Needs needs, const char* operation) {
  require_open(operation);
  if (needs == Needs::Lock) require_lock(target.rank, operation);
  const auto& part = segment(target.rank, operation);
  if (target.offset > part.count || target.count > part.count - target.offset) {
    throw InvalidBuffer(operation, text_of(operation, ": ", target.count, " elements from offset ", target.offset,
                                           " on do not fit into the ", part.count, " of rank ", target.rank));
  }
  if (!all_locked_ && locks_[static_cast<std::size_t>(target.rank)] == 0) {
    if (!fenced_) {
      throw MpiError(operation, ErrorClass::RmaSync,
                     text_of("no epoch is open for rank ", target.rank,
                             ": call fence() on all ranks, or take a guard with lock() or lock_all(), first"));
    }
    pending_ = true;
  }
  const auto bytes = static_cast<std::size_t>(part.padding) + target.offset * element_size_;
  return static_cast<MPI_Aint>(bytes / displacement_unit_);
}

/// Calls `call_mpi(first, count, displacement)` for pieces of at most `most` elements, in order.
template <class Transfer>
void WindowState::transfer(const WindowRange& target, Needs needs, std::size_t most, const char* operation,
                           Transfer call_mpi) {
  const WindowCall call(*this, operation);
  const auto displacement = begin_access(target, needs, operation);
  const auto per_element = element_size_ / displacement_unit_;
  for (std::size_t first = 0; first < target.count; first += most) {
    const auto count = std::min(most, target.count - first);
    check(call_mpi(first, static_cast<int>(count), displacement + static_cast<MPI_Aint>(first * per_element)),
          operation);
  }
}

// Elements move as bytes: both sides are this machine, so the representation is the same, and a contiguous copy is the
// fastest thing a library can do with them.
void WindowState::put(const void* origin, const WindowRange& target) {
  const auto most = std::max<std::size_t>(most_per_call / element_size_, 1);
  transfer(target, Needs::Epoch, most, "put", [&](std::size_t first, int count, MPI_Aint displacement) {
    const int bytes = count * static_cast<int>(element_size_);
    return MPI_Put(static_cast<const std::byte*>(origin) + first * element_size_, bytes, MPI_BYTE, target.rank,
                   displacement, bytes, MPI_BYTE, win_);
  });
}

void WindowState::get(void* origin, const WindowRange& target) {
  const auto most = std::max<std::size_t>(most_per_call / element_size_, 1);
  transfer(target, Needs::Epoch, most, "get", [&](std::size_t first, int count, MPI_Aint displacement) {
    const int bytes = count * static_cast<int>(element_size_);
    return MPI_Get(static_cast<std::byte*>(origin) + first * element_size_, bytes, MPI_BYTE, target.rank, displacement,
                   bytes, MPI_BYTE, win_);
  });
}

void WindowState::accumulate(const void* origin, MPI_Datatype type, MPI_Op op, const WindowRange& target) {
  transfer(target, Needs::Epoch, most_per_call, "accumulate", [&](std::size_t first, int count, MPI_Aint displacement) {
    return MPI_Accumulate(static_cast<const std::byte*>(origin) + first * element_size_, count, type, target.rank,
                          displacement, count, type, op, win_);
  });
}

void WindowState::fetch_accumulate(const void* origin, void* result, MPI_Datatype type, MPI_Op op,
                                   const WindowRange& target) {
  transfer(target, Needs::Epoch, most_per_call, "fetch_accumulate",
           [&](std::size_t first, int count, MPI_Aint displacement) {
             return MPI_Get_accumulate(static_cast<const std::byte*>(origin) + first * element_size_, count, type,
                                       static_cast<std::byte*>(result) + first * element_size_, count, type,
                                       target.rank, displacement, count, type, op, win_);
           });
}

// An operation that returns a value must be complete when it returns, and a fence epoch completes nothing before the
// next fence: these two ask for a lock, and flush.
void WindowState::fetch_op(const void* origin, void* result, MPI_Datatype type, MPI_Op op, const WindowRange& target) {
  transfer(target, Needs::Lock, 1, "fetch_op", [&](std::size_t, int, MPI_Aint displacement) {
    const int code = MPI_Fetch_and_op(origin, result, type, target.rank, displacement, op, win_);
    return code == MPI_SUCCESS ? MPI_Win_flush(target.rank, win_) : code;
  });
}

void WindowState::compare_and_swap(const void* expected, const void* desired, void* result, MPI_Datatype type,
                                   const WindowRange& target) {
  transfer(target, Needs::Lock, 1, "compare_and_swap", [&](std::size_t, int, MPI_Aint displacement) {
    // Both operands are only read, whether or not the library's header says so.
    const int code = MPI_Compare_and_swap(const_cast<void*>(desired), const_cast<void*>(expected), result, type,
                                          target.rank, displacement, win_);
    return code == MPI_SUCCESS ? MPI_Win_flush(target.rank, win_) : code;
  });
}

}  // namespace ferrompi::detail
