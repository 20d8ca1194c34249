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

/// Calls `move(first, length, place)`: once where one call of MPI counts all of the elements, and by pieces of at most
/// `most` where it does not.
template <class Move>
struct WindowState::Transfer {
  WindowState& window;
  Access access;
  std::size_t most;
  Move move;

  FERROMPI_INLINE void run() const {
    const WindowCall call(window, access.operation);
    if (is_not_one_call(access.count, most) || !window.begin_access(access)) [[unlikely]] {
      return by_pieces(cold_copy(*this));
    }
    check(move(0, access.count, window.place_of(access)), access.operation);
  }

  // Given all in one place: what it were given in registers would be moved there by every call.
  [[gnu::cold, gnu::noinline]] static void by_pieces(const Transfer& whole) {
    whole.window.require_access(whole.access);
    for (std::size_t first = 0; first < whole.access.count; first += whole.most) {
      auto piece = whole.access;
      piece.offset += first;
      const auto length = std::min(whole.most, piece.count - first);
      check(whole.move(first, length, whole.window.place_of(piece)), piece.operation);
    }
  }
};

// Elements move as bytes: both sides are this machine, so the representation is the same, and a contiguous copy is the
// fastest thing a library can do with them.
void WindowState::put(const void* origin, std::size_t count, WindowState& window, int rank, std::size_t offset) {
  Transfer{window,
           {count, rank, offset, Needs::Epoch, "put"},
           window.most_at_once_,
           [=, &window](std::size_t first, std::size_t length, MPI_Aint place) {
             const int bytes = static_cast<int>(length * window.element_size_);
             const auto* from = advanced(origin, first * window.element_size_);
             return MPI_Put(from, bytes, MPI_BYTE, rank, place, bytes, MPI_BYTE, window.win_);
           }}
      .run();
}

void WindowState::get(void* origin, std::size_t count, WindowState& window, int rank, std::size_t offset) {
  Transfer{window,
           {count, rank, offset, Needs::Epoch, "get"},
           window.most_at_once_,
           [=, &window](std::size_t first, std::size_t length, MPI_Aint place) {
             const int bytes = static_cast<int>(length * window.element_size_);
             auto* to = advanced(origin, first * window.element_size_);
             return MPI_Get(to, bytes, MPI_BYTE, rank, place, bytes, MPI_BYTE, window.win_);
           }}
      .run();
}

void WindowState::accumulate(const void* origin, std::size_t count, MPI_Datatype type, int rank, std::size_t offset,
                             MPI_Op op, WindowState& window) {
  Transfer{window,
           {count, rank, offset, Needs::Epoch, "accumulate"},
           most_combined_at_once,
           [=, &window](std::size_t first, std::size_t length, MPI_Aint place) {
             const int n = static_cast<int>(length);
             const auto* from = advanced(origin, first * window.element_size_);
             return MPI_Accumulate(from, n, type, rank, place, n, type, op, window.win_);
           }}
      .run();
}

void WindowState::fetch_accumulate(const void* origin, std::size_t count, MPI_Datatype type, void* result,
                                   WindowState& window, int rank, std::size_t offset, MPI_Op op) {
  Transfer{window,
           {count, rank, offset, Needs::Epoch, "fetch_accumulate"},
           most_combined_at_once,
           [=, &window](std::size_t first, std::size_t length, MPI_Aint place) {
             const int n = static_cast<int>(length);
             const auto* from = advanced(origin, first * window.element_size_);
             auto* to = advanced(result, first * window.element_size_);
             return MPI_Get_accumulate(from, n, type, to, n, type, rank, place, n, type, op, window.win_);
           }}
      .run();
}

// An operation that returns a value must be complete when it returns, and a fence epoch completes nothing before the
// next fence: these two ask for a lock, and flush.
void WindowState::fetch_op(const void* origin, void* result, MPI_Datatype type, int rank, std::size_t offset,
                           MPI_Op op) {
  const WindowCall call(*this, "fetch_op");
  const Access access{1, rank, offset, Needs::Lock, "fetch_op"};
  require_access(access);
  check(MPI_Fetch_and_op(origin, result, type, rank, place_of(access), op, win_), "fetch_op");
  check(MPI_Win_flush(rank, win_), "fetch_op");
}

void WindowState::compare_and_swap(const void* desired, const void* expected, void* result, MPI_Datatype type, int rank,
                                   std::size_t offset) {
  const WindowCall call(*this, "compare_and_swap");
  const Access access{1, rank, offset, Needs::Lock, "compare_and_swap"};
  require_access(access);
  // Both operands are only read, whether or not the library's header says so.
  check(MPI_Compare_and_swap(const_cast<void*>(desired), const_cast<void*>(expected), result, type, rank,
                             place_of(access), win_),
        "compare_and_swap");
  check(MPI_Win_flush(rank, win_), "compare_and_swap");
}

}  // namespace ferrompi::detail
