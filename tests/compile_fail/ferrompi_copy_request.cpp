// expect: deleted
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

void run(const Communicator& world, std::vector<double>& data) {
  auto request = world.ibroadcast(data, 0);
#ifdef FIXED
  auto other = std::move(request);
#else
  auto other = request;
#endif
  other.wait();
}
