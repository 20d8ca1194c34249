// A communicator as the operations see it.
#pragma once

#include <ferrompi/detail/mpi.hpp>

namespace ferrompi::detail {

struct Group {
  MPI_Comm native = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;  // 0 once moved from
};

}  // namespace ferrompi::detail
