// expect: pass a named container or a span, not a temporary
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

void run(const Communicator& world, const std::vector<double>& send) {
#ifdef FIXED
  std::vector<double> recv(send.size());
  world.allreduce(send, recv, ReduceOp::Sum);
#else
  world.allreduce(send, std::vector<double>(send.size()), ReduceOp::Sum);
#endif
}
