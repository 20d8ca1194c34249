// What a finished request tells: of a receive what MPI says, of anything else that nothing was received.
#pragma once

#include <ferrompi/detail/hold.hpp>
#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/error.hpp>
#include <ferrompi/status.hpp>

#include <optional>

namespace ferrompi::detail {

/// MPI leaves the status of a finished send open, but for whether it was cancelled: MPICH does not touch the rest, and
/// Open MPI writes the sender's own rank and length. Neither tells of a message that arrived.
inline Status status_of(const MPI_Status& native, MPI_Datatype type, OnDrop on_drop) noexcept {
  if (on_drop == OnDrop::Cancel) return {native, type};
  MPI_Status nothing = Status().native();
  int cancelled = 0;
  if (MPI_Test_cancelled(&native, &cancelled) == MPI_SUCCESS && cancelled != 0) MPI_Status_set_cancelled(&nothing, 1);
  return {nothing, type};
}

/// What MPI says of a request so far, which it keeps; nothing while it is in progress.
inline std::optional<Status> status_so_far(MPI_Request request, MPI_Datatype type, OnDrop on_drop) {
  require_running("get_status");
  const CallGuard guard("get_status");
  MPI_Status status{};
  int finished = 0;
  check(MPI_Request_get_status(request, &finished, &status), "get_status");
  if (finished == 0) return std::nullopt;
  return status_of(status, type, on_drop);
}

}  // namespace ferrompi::detail
