// The texts of what a window refuses, out of the way of what it does.
#include <ferrompi/error.hpp>
#include <ferrompi/window.hpp>

#include "ferrompi/text.hpp"
#include "ferrompi/window_checks.hpp"

#include <ostream>

namespace ferrompi {

std::ostream& operator<<(std::ostream& out, AccumulateOp op) {
  return out << to_string(op);
}

namespace detail {

void throw_moved_from_window(const char* operation) {
  throw MpiError(operation, ErrorClass::Win, "this window was moved from: use the one that it was moved to");
}

void throw_guard_ended(const char* operation) {
  throw MpiError(operation, ErrorClass::RmaSync, "the lock of this guard was ended or moved to another guard");
}

void throw_shared_lock_written() {
  throw InvalidOp("as_mut_span",
                  "as_mut_span: a shared lock does not keep other ranks out: lock with LockType::Exclusive to write");
}

void throw_undefined_accumulate(const char* operation, AccumulateOp op, ElementType type) {
  throw InvalidOp(operation, text_of(operation, ": ", to_string(op), " does not exist for elements of type ",
                                     cobre::comm::to_string(type)));
}

void throw_wrong_accumulate(const char* operation, AccumulateOp op, ElementType type) {
  throw NotSupported(operation,
                     text_of(operation, ": this MPI library compares elements of type ", cobre::comm::to_string(type),
                             " as if they had a sign, so that ", to_string(op), " would be wrong: use a signed type"));
}

void throw_different_lengths(const char* operation, std::size_t values, std::size_t results) {
  throw InvalidBuffer(operation, text_of(operation, ": ", values, " values, but room for ", results,
                                         " results: both must have the same length"));
}

void throw_window_is_gone(const char* operation) {
  throw MpiError(operation, ErrorClass::Win, "the window is gone: a guard or target of it must not be used any more");
}

void throw_outside_of_window(const char* operation, int rank, int size) {
  throw MpiError(operation, ErrorClass::Rank,
                 text_of("rank ", rank, " is outside of this window, which has ", size, " ranks"));
}

void throw_all_locked(const char* operation) {
  throw MpiError(operation, ErrorClass::RmaSync, "this process holds a lock_all() guard of the window: end it first");
}

void throw_locked(const char* operation, int rank) {
  throw MpiError(operation, ErrorClass::RmaSync,
                 text_of("this process holds a lock() guard for rank ", rank, " of the window: end it first"));
}

void throw_nested_lock(int rank) {
  throw MpiError("lock", ErrorClass::RmaSync,
                 text_of("this process holds a lock on rank ", rank, " already: locks do not nest"));
}

void throw_something_precedes() {
  throw MpiError("fence", ErrorClass::RmaSync,
                 "NoPrecede promises that nothing was issued since the last fence(), but something was");
}

void throw_not_locked(const char* operation, int rank) {
  throw MpiError(operation, ErrorClass::RmaSync,
                 text_of("rank ", rank, " is not locked: take a guard with lock() or lock_all()"));
}

void throw_pending_operation(const char* operation) {
  throw MpiError(operation, ErrorClass::RmaSync,
                 "operations issued since the last fence() are still open: call fence() on all ranks first");
}

void throw_no_epoch(const char* operation, int rank) {
  throw MpiError(operation, ErrorClass::RmaSync,
                 text_of("no epoch is open for rank ", rank,
                         ": call fence() on all ranks, or take a guard with lock() or lock_all(), first"));
}

void throw_does_not_fit(const char* operation, int rank, std::size_t offset, std::size_t count, std::size_t room) {
  throw InvalidBuffer(operation, text_of(operation, ": ", count, " elements from offset ", offset,
                                         " on do not fit into the ", room, " of rank ", rank));
}

// What a call found in one comparison, told apart.
void WindowState::refuse_lock(const char* operation) const {
  require_open(operation);
  if (is(AllLocked)) throw_all_locked(operation);
  throw_pending_operation(operation);
}

void WindowState::refuse_access(const Access& access) const {
  const auto& [count, rank, offset, needs, operation] = access;
  require_open(operation);
  if (needs == Needs::Lock) require_lock(rank, operation);
  const auto room = segments_[static_cast<std::size_t>(rank)].count;
  if (offset > room || count > room - offset) throw_does_not_fit(operation, rank, offset, count, room);
  throw_no_epoch(operation, rank);
}

}  // namespace detail
}  // namespace ferrompi
