// What a finished request tells: of a receive what MPI says, of anything else that nothing was received.
#pragma once

#include <ferrompi/detail/hold.hpp>
#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/status.hpp>

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

}  // namespace ferrompi::detail
