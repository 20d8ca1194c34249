// expect: its elements must not be const
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

void run(const Communicator& world, const std::vector<double>& send) {
#ifdef FIXED
  std::vector<double> recv(send.size());
#else
  const std::vector<double> recv(send.size());
#endif
  world.allreduce(send, recv, ReduceOp::Sum);
}
