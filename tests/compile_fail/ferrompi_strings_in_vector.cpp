// expect: elements must be trivially copyable
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

void run(const Communicator& world) {
#ifdef FIXED
  std::string data = "text";
#else
  std::vector<std::string> data(4);
#endif
  world.broadcast(data, 0);
}
