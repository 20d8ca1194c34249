#include <cobre/comm/detail/lane.hpp>
#include <cobre/comm/request.hpp>

#include "comm/core/format.hpp"

namespace cobre::comm::detail {

void throw_nothing_to_get() {
  throw InvalidOperation({"get", 0, 1}, "the buffer was handed back already; get() gives it once");
}

void throw_already_started(const Where& where) {
  throw InvalidOperation(
      {"start", where.rank, where.size},
      core::format("a round of this {} is in progress; wait() for it before the next start()", where.operation));
}

void throw_plan_moved_from(const Where& where) {
  throw InvalidOperation({"start", where.rank, where.size},
                         core::format("this {} was moved from; start the plan that it was moved to", where.operation));
}

void throw_needs_threads(const Where& where, const char* level) {
  throw InvalidOperation(
      where, core::format("this operation goes on by itself on a thread of its own, but MPI was started with "
                          "ThreadLevel::{}; start it with ThreadLevel::Multiple, or wait for the operation",
                          level));
}

}  // namespace cobre::comm::detail
