// Moving elements in and out of a window by MPI operations.
#include <ferrompi/error.hpp>
#include <ferrompi/window/state.hpp>

#include "ferrompi/window_call.hpp"
#include "ferrompi/window_checks.hpp"

#include <algorithm>

namespace ferrompi::detail {

namespace {

// The most that one call of MPI carries: counts are int, and a piece this large costs nothing to start.
constexpr std::size_t most_per_call = std::size_t{1} << 30;

template <class Transfer>
[[gnu::cold, gnu::noinline]] void by_pieces(std::size_t total, std::size_t most, std::size_t units_per_element,
                                            MPI_Aint displacement, const char* operation, Transfer call_mpi) {
  for (std::size_t first = 0; first < total; first += most) {
    const auto count = std::min(most, total - first);
    check(call_mpi(first, static_cast<int>(count), displacement + static_cast<MPI_Aint>(first * units_per_element)),
          operation);
  }
}

}  // namespace

/// Calls `call_mpi(first, count, displacement)` once, or for pieces where an int would not count the units of `weight`
/// to an element. What it captures it copies: what the way by pieces could see would be kept in memory on both ways.
template <class Transfer>
FERROMPI_INLINE void WindowState::transfer(const WindowRange& target, Needs needs, std::size_t weight,
                                           const char* operation, Transfer call_mpi) {
  const WindowCall call(*this, operation);
  const auto displacement = begin_access(target, needs, operation);
  if (target.count == 0) [[unlikely]] {
    return;
  }
  if (target.count * weight > most_per_call) [[unlikely]] {
    const auto most = std::max<std::size_t>(most_per_call / weight, 1);
    return by_pieces(target.count, most, element_size_ / displacement_unit_, displacement, operation, call_mpi);
  }
  check(call_mpi(0, static_cast<int>(target.count), displacement), operation);
}

// Elements move as bytes: both sides are this machine, so the representation is the same, and a contiguous copy is the
// fastest thing a library can do with them.
void WindowState::put(const void* origin, const WindowRange& target) {
  transfer(target, Needs::Epoch, element_size_, "put", [=, this](std::size_t first, int count, MPI_Aint displacement) {
    const int bytes = count * static_cast<int>(element_size_);
    return MPI_Put(static_cast<const std::byte*>(origin) + first * element_size_, bytes, MPI_BYTE, target.rank,
                   displacement, bytes, MPI_BYTE, win_);
  });
}

void WindowState::get(void* origin, const WindowRange& target) {
  transfer(target, Needs::Epoch, element_size_, "get", [=, this](std::size_t first, int count, MPI_Aint displacement) {
    const int bytes = count * static_cast<int>(element_size_);
    return MPI_Get(static_cast<std::byte*>(origin) + first * element_size_, bytes, MPI_BYTE, target.rank, displacement,
                   bytes, MPI_BYTE, win_);
  });
}

void WindowState::accumulate(const void* origin, MPI_Datatype type, MPI_Op op, const WindowRange& target) {
  transfer(target, Needs::Epoch, 1, "accumulate", [=, this](std::size_t first, int count, MPI_Aint displacement) {
    return MPI_Accumulate(static_cast<const std::byte*>(origin) + first * element_size_, count, type, target.rank,
                          displacement, count, type, op, win_);
  });
}

void WindowState::fetch_accumulate(const void* origin, void* result, MPI_Datatype type, MPI_Op op,
                                   const WindowRange& target) {
  transfer(target, Needs::Epoch, 1, "fetch_accumulate", [=, this](std::size_t first, int count, MPI_Aint displacement) {
    return MPI_Get_accumulate(static_cast<const std::byte*>(origin) + first * element_size_, count, type,
                              static_cast<std::byte*>(result) + first * element_size_, count, type, target.rank,
                              displacement, count, type, op, win_);
  });
}

// An operation that returns a value must be complete when it returns, and a fence epoch completes nothing before the
// next fence: these two ask for a lock, and flush.
void WindowState::fetch_op(const void* origin, void* result, MPI_Datatype type, MPI_Op op, const WindowRange& target) {
  transfer(target, Needs::Lock, 1, "fetch_op", [=, this](std::size_t, int, MPI_Aint displacement) {
    const int code = MPI_Fetch_and_op(origin, result, type, target.rank, displacement, op, win_);
    return code == MPI_SUCCESS ? MPI_Win_flush(target.rank, win_) : code;
  });
}

void WindowState::compare_and_swap(const void* expected, const void* desired, void* result, MPI_Datatype type,
                                   const WindowRange& target) {
  transfer(target, Needs::Lock, 1, "compare_and_swap", [=, this](std::size_t, int, MPI_Aint displacement) {
    // Both operands are only read, whether or not the library's header says so.
    const int code = MPI_Compare_and_swap(const_cast<void*>(desired), const_cast<void*>(expected), result, type,
                                          target.rank, displacement, win_);
    return code == MPI_SUCCESS ? MPI_Win_flush(target.rank, win_) : code;
  });
}

}  // namespace ferrompi::detail
