// Calls that need hints and have nothing to do without any.
#pragma once

#include <ferrompi/error.hpp>
#include <ferrompi/info.hpp>

namespace ferrompi::detail {

/// MPI refuses a null Info too, but by the error handler of MPI_COMM_WORLD, which may be one that ends the job.
inline void require_hints(const Info& info, const char* operation) {
  if (!info.is_null()) return;
  throw MpiError(operation, ErrorClass::Info, "MPI_INFO_NULL (or a moved-from Info) has no hints to give");
}

}  // namespace ferrompi::detail
