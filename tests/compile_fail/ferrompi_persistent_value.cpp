// expect: pass a variable, not a temporary
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

PersistentRequest run(const Communicator& world, int& value) {
#ifdef FIXED
  return world.broadcast_init(value, 0);
#else
  return world.broadcast_init(value + 1, 0);
#endif
}
