// What a window looks at before every call. The tests are inline, what they throw is not: see window_errors.cpp.
#pragma once

#include <ferrompi/detail/engine.hpp>
#include <ferrompi/window/state.hpp>

#include <cstddef>

namespace ferrompi::detail {

[[noreturn, gnu::cold, gnu::noinline]] void throw_window_is_gone(const char* operation);
[[noreturn, gnu::cold, gnu::noinline]] void throw_outside_of_window(const char* operation, int rank, int size);
[[noreturn, gnu::cold, gnu::noinline]] void throw_all_locked(const char* operation);
[[noreturn, gnu::cold, gnu::noinline]] void throw_locked(const char* operation, int rank);
[[noreturn, gnu::cold, gnu::noinline]] void throw_nested_lock(int rank);
[[noreturn, gnu::cold, gnu::noinline]] void throw_something_precedes();
[[noreturn, gnu::cold, gnu::noinline]] void throw_not_locked(const char* operation, int rank);
[[noreturn, gnu::cold, gnu::noinline]] void throw_pending_operation(const char* operation);
[[noreturn, gnu::cold, gnu::noinline]] void throw_no_epoch(const char* operation, int rank);
[[noreturn, gnu::cold, gnu::noinline]] void throw_does_not_fit(const char* operation, int rank, std::size_t offset,
                                                               std::size_t count, std::size_t room);

FERROMPI_INLINE void WindowState::require_open(const char* operation) const {
  if (is(Gone)) [[unlikely]] {
    throw_window_is_gone(operation);
  }
  require_running(operation);
}

FERROMPI_INLINE void WindowState::require_rank(int rank, const char* operation) const {
  // One comparison for both ends: a negative rank is a huge unsigned number.
  if (static_cast<unsigned>(rank) >= static_cast<unsigned>(size_)) [[unlikely]] {
    throw_outside_of_window(operation, rank, size_);
  }
}

FERROMPI_INLINE void WindowState::require_no_lock(const char* operation) const {
  if (is(AllLocked)) [[unlikely]] {
    throw_all_locked(operation);
  }
  if (locks_held_ == 0) [[likely]] {
    return;
  }
  for (int rank = 0; rank < size_; ++rank) {
    if (segments_[static_cast<std::size_t>(rank)].locked) throw_locked(operation, rank);
  }
}

FERROMPI_INLINE void WindowState::require_lock(int rank, const char* operation) const {
  require_rank(rank, operation);
  if (!is(AllLocked) && !segments_[static_cast<std::size_t>(rank)].locked) [[unlikely]] {
    throw_not_locked(operation, rank);
  }
}

/// Whether the operation may begin.
///
/// The rank was looked at when its target was made. An epoch says that the window is there and that MPI runs: what ends
/// one of them ends the epoch first.
FERROMPI_INLINE bool WindowState::begin_access(const Access& access) {
  const auto& part = segments_[static_cast<std::size_t>(access.rank)];
  std::size_t end = 0;
  if (__builtin_add_overflow(access.offset, access.count, &end) || end > part.count) return false;
  if (is(AllLocked)) return true;
  if (access.needs == Needs::Lock || !is(Fenced)) return part.locked;  // one is never open beside the other
  facts_ |= Pending;
  return true;
}

FERROMPI_INLINE void WindowState::require_access(const Access& access) {
  if (!begin_access(access)) [[unlikely]] {
    refuse_access(cold_copy(access));
  }
}

/// In displacement units of the target.
FERROMPI_INLINE MPI_Aint WindowState::place_of(const Access& access) const noexcept {
  const auto& part = segments_[static_cast<std::size_t>(access.rank)];
  return part.place + static_cast<MPI_Aint>(access.offset * units_per_element_);
}

}  // namespace ferrompi::detail
