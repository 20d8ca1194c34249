// Telling those who keep the handle of a communicator that it is no more.
#pragma once

#include <ferrompi/detail/mpi.hpp>

namespace ferrompi::detail {

/// The communicator is about to be freed.
void end_life(MPI_Comm comm) noexcept;

}  // namespace ferrompi::detail
