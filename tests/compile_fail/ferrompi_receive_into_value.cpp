// expect: receive into a variable or a buffer
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

void run(const Communicator& world) {
#ifdef FIXED
  int value = 0;
  world.recv(value, 0, 0);
#else
  world.recv(5, 0, 0);
#endif
}
