// expect: pointers, spans and views mean nothing in another process
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

void run(const Communicator& world) {
#ifdef FIXED
  std::vector<double> data(4);
#else
  std::vector<double*> data(4);
#endif
  world.broadcast(data, 0);
}
