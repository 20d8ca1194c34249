// expect: std::vector<bool> packs bits
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

void run(const Communicator& world) {
#ifdef FIXED
  std::vector<char> flags(8);
#else
  std::vector<bool> flags(8);
#endif
  world.broadcast(flags, 0);
}
