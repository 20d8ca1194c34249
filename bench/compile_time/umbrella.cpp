// A file that includes everything.
#include <ferrompi/ferrompi.hpp>

double total(double local, const ferrompi::Communicator& comm) {
  return comm.allreduce(local, ferrompi::ReduceOp::Sum);
}
