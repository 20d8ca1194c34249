// The texts of what the window templates refuse, out of their way.
#include <ferrompi/error.hpp>
#include <ferrompi/window.hpp>

#include "ferrompi/text.hpp"

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

void throw_different_lengths(const char* operation, std::size_t values, std::size_t results) {
  throw InvalidBuffer(operation, text_of(operation, ": ", values, " values, but room for ", results,
                                         " results: both must have the same length"));
}

}  // namespace detail
}  // namespace ferrompi
