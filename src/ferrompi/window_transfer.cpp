// Moving elements in and out of a window by MPI operations.
#include <ferrompi/error.hpp>
#include <ferrompi/window/state.hpp>

#include "ferrompi/window_call.hpp"
#include "ferrompi/window_checks.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace ferrompi::detail {

namespace {

// The most elements that one call of MPI combines: counts are int, and a piece this large costs nothing to start.
constexpr std::size_t most_combined_at_once = std::size_t{1} << 30;

// None, or more than `most`: what is not one call of MPI, told by one comparison.
FERROMPI_INLINE bool is_not_one_call(std::size_t count, std::size_t most) {
  return count - 1 >= most;
}

template <class Pointer>
Pointer advanced(Pointer pointer, std::size_t bytes) {
  using Byte = std::conditional_t<std::is_same_v<Pointer, void*>, std::byte, const std::byte>;
  return static_cast<Byte*>(pointer) + bytes;
}

}  // namespace

/// Calls `move(first, length)` for pieces of at most `most` elements, once all of them are known to be allowed. What
/// `move` needs it copies on the way here: what it could see of its caller would be kept in memory by every call.
template <class Move>
[[gnu::cold, gnu::noinline]] void WindowState::by_pieces(std::size_t count, int rank, std::size_t offset,
                                                         std::size_t most, const char* operation, Move move) {
  {
    const WindowCall call(*this, operation);
    begin_access(count, rank, offset, Needs::Epoch, operation);
  }
  for (std::size_t first = 0; first < count; first += most) move(first, std::min(most, count - first));
}

// Elements move as bytes: both sides are this machine, so the representation is the same, and a contiguous copy is the
// fastest thing a library can do with them.
void WindowState::put(const void* origin, std::size_t count, int rank, std::size_t offset) {
  if (is_not_one_call(count, most_at_once_)) [[unlikely]] {
    return by_pieces(count, rank, offset, most_at_once_, "put", [=, this](std::size_t first, std::size_t length) {
      put(advanced(origin, first * element_size_), length, rank, offset + first);
    });
  }
  const WindowCall call(*this, "put");
  const auto place = begin_access(count, rank, offset, Needs::Epoch, "put");
  const int bytes = static_cast<int>(count * element_size_);
  check(MPI_Put(origin, bytes, MPI_BYTE, rank, place, bytes, MPI_BYTE, win_), "put");
}

void WindowState::get(void* origin, std::size_t count, int rank, std::size_t offset) {
  if (is_not_one_call(count, most_at_once_)) [[unlikely]] {
    return by_pieces(count, rank, offset, most_at_once_, "get", [=, this](std::size_t first, std::size_t length) {
      get(advanced(origin, first * element_size_), length, rank, offset + first);
    });
  }
  const WindowCall call(*this, "get");
  const auto place = begin_access(count, rank, offset, Needs::Epoch, "get");
  const int bytes = static_cast<int>(count * element_size_);
  check(MPI_Get(origin, bytes, MPI_BYTE, rank, place, bytes, MPI_BYTE, win_), "get");
}

void WindowState::accumulate(const void* origin, std::size_t count, MPI_Datatype type, int rank, std::size_t offset,
                             MPI_Op op) {
  constexpr auto* name = "accumulate";
  if (is_not_one_call(count, most_combined_at_once)) [[unlikely]] {
    return by_pieces(count, rank, offset, most_combined_at_once, name,
                     [=, this](std::size_t first, std::size_t length) {
                       accumulate(advanced(origin, first * element_size_), length, type, rank, offset + first, op);
                     });
  }
  const WindowCall call(*this, name);
  const auto place = begin_access(count, rank, offset, Needs::Epoch, name);
  const int n = static_cast<int>(count);
  check(MPI_Accumulate(origin, n, type, rank, place, n, type, op, win_), name);
}

void WindowState::fetch_accumulate(const void* origin, std::size_t count, MPI_Datatype type, void* result, int rank,
                                   std::size_t offset, MPI_Op op) {
  constexpr auto* name = "fetch_accumulate";
  if (is_not_one_call(count, most_combined_at_once)) [[unlikely]] {
    return by_pieces(
        count, rank, offset, most_combined_at_once, name, [=, this](std::size_t first, std::size_t length) {
          const auto before = first * element_size_;
          fetch_accumulate(advanced(origin, before), length, type, advanced(result, before), rank, offset + first, op);
        });
  }
  const WindowCall call(*this, name);
  const auto place = begin_access(count, rank, offset, Needs::Epoch, name);
  const int n = static_cast<int>(count);
  check(MPI_Get_accumulate(origin, n, type, result, n, type, rank, place, n, type, op, win_), name);
}

// An operation that returns a value must be complete when it returns, and a fence epoch completes nothing before the
// next fence: these two ask for a lock, and flush.
void WindowState::fetch_op(const void* origin, void* result, MPI_Datatype type, int rank, std::size_t offset,
                           MPI_Op op) {
  const WindowCall call(*this, "fetch_op");
  const auto place = begin_access(1, rank, offset, Needs::Lock, "fetch_op");
  check(MPI_Fetch_and_op(origin, result, type, rank, place, op, win_), "fetch_op");
  check(MPI_Win_flush(rank, win_), "fetch_op");
}

void WindowState::compare_and_swap(const void* desired, const void* expected, void* result, MPI_Datatype type, int rank,
                                   std::size_t offset) {
  const WindowCall call(*this, "compare_and_swap");
  const auto place = begin_access(1, rank, offset, Needs::Lock, "compare_and_swap");
  // Both operands are only read, whether or not the library's header says so.
  check(MPI_Compare_and_swap(const_cast<void*>(desired), const_cast<void*>(expected), result, type, rank, place, win_),
        "compare_and_swap");
  check(MPI_Win_flush(rank, win_), "compare_and_swap");
}

}  // namespace ferrompi::detail
