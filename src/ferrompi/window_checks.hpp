// What a window looks at before every call. The tests are inline, what they throw is not: see window_errors.cpp.
#pragma once

#include <ferrompi/window/state.hpp>

#include <cstddef>

namespace ferrompi::detail {

[[noreturn, gnu::cold, gnu::noinline]] void throw_window_is_gone(const char* operation);
[[noreturn, gnu::cold, gnu::noinline]] void throw_outside_of_window(const char* operation, int rank, int size);
[[noreturn, gnu::cold, gnu::noinline]] void throw_all_locked(const char* operation);
[[noreturn, gnu::cold, gnu::noinline]] void throw_locked(const char* operation, int rank);
[[noreturn, gnu::cold, gnu::noinline]] void throw_nested_lock(bool all_locked, int rank);
[[noreturn, gnu::cold, gnu::noinline]] void throw_something_precedes();
[[noreturn, gnu::cold, gnu::noinline]] void throw_not_locked(const char* operation, int rank);
[[noreturn, gnu::cold, gnu::noinline]] void throw_pending_operation(const char* operation);
[[noreturn, gnu::cold, gnu::noinline]] void throw_no_epoch(const char* operation, int rank);
[[noreturn, gnu::cold, gnu::noinline]] void throw_does_not_fit(const char* operation, int rank, std::size_t offset,
                                                               std::size_t count, std::size_t room);

FERROMPI_INLINE void WindowState::require_open(const char* operation) const {
  if (win_ == MPI_WIN_NULL) [[unlikely]] {
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
  if (all_locked_) [[unlikely]] {
    throw_all_locked(operation);
  }
  if (locks_held_ == 0) [[likely]] {
    return;
  }
  for (int rank = 0; rank < size_; ++rank) {
    if (segments_[static_cast<std::size_t>(rank)].locked) throw_locked(operation, rank);
  }
}

FERROMPI_INLINE void WindowState::require_no_pending_operation(const char* operation) const {
  if (pending_) [[unlikely]] {
    throw_pending_operation(operation);
  }
}

FERROMPI_INLINE void WindowState::require_lock(int rank, const char* operation) const {
  require_rank(rank, operation);
  if (!all_locked_ && !segments_[static_cast<std::size_t>(rank)].locked) [[unlikely]] {
    throw_not_locked(operation, rank);
  }
}

/// Where the operation begins, in displacement units of the target.
FERROMPI_INLINE MPI_Aint WindowState::begin_access(std::size_t count, int rank, std::size_t offset, Needs needs,
                                                   const char* operation) {
  require_open(operation);
  require_rank(rank, operation);
  if (needs == Needs::Lock) require_lock(rank, operation);
  const auto& part = segments_[static_cast<std::size_t>(rank)];
  if (offset > part.count || count > part.count - offset) [[unlikely]] {
    throw_does_not_fit(operation, rank, offset, count, part.count);
  }
  if (needs == Needs::Epoch && !all_locked_ && !part.locked) {
    if (!fenced_) [[unlikely]] {
      throw_no_epoch(operation, rank);
    }
    pending_ = true;
  }
  return part.place + static_cast<MPI_Aint>(offset * units_per_element_);
}

}  // namespace ferrompi::detail
