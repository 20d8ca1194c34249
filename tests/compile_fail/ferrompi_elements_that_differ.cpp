// expect: send and recv must have elements of the same type
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

void run(const Communicator& world, const std::vector<double>& send) {
#ifdef FIXED
  std::vector<double> recv(send.size());
#else
  std::vector<float> recv(send.size());
#endif
  world.allgather(send, recv);
}
