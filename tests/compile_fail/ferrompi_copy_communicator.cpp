// expect: deleted
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

Communicator run(const Communicator& world) {
#ifdef FIXED
  return world.duplicate();
#else
  return world;
#endif
}
