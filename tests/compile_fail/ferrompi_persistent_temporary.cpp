// expect: a persistent operation borrows its buffers
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

PersistentRequest run(const Communicator& world, std::vector<double>& data) {
#ifdef FIXED
  return world.broadcast_init(data, 0);
#else
  return world.broadcast_init(std::vector<double>(data), 0);
#endif
}
