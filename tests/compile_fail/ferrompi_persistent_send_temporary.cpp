// expect: a persistent operation borrows its buffers
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

PersistentRequest run(const Communicator& world, const std::vector<double>& send, std::vector<double>& recv) {
#ifdef FIXED
  return world.allreduce_init(send, recv, ReduceOp::Sum);
#else
  return world.allreduce_init(std::vector<double>(send), recv, ReduceOp::Sum);
#endif
}
