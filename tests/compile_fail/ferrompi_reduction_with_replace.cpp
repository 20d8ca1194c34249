// expect: the operation of a reduction is a ReduceOp or a callable
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>
#include <ferrompi/window/accumulate_op.hpp>

double total(const ferrompi::Communicator& world, double local) {
#ifdef FIXED
  return world.allreduce(local, ferrompi::ReduceOp::Sum);
#else
  return world.allreduce(local, ferrompi::AccumulateOp::Replace);  // only a window has something to replace
#endif
}
