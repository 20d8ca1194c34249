// A file that talks: it includes the communicator, and nothing else.
#include <ferrompi/communicator.hpp>

double total(double local, const ferrompi::Communicator& comm) {
  return comm.allreduce(local, ferrompi::ReduceOp::Sum);
}
