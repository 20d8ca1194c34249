// expect: send and recv must have the same length
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

void run(const Communicator& world, const std::array<double, 4>& send) {
#ifdef FIXED
  std::array<double, 4> recv{};
#else
  std::array<double, 3> recv{};
#endif
  world.allreduce(send, recv, ReduceOp::Sum);
}
