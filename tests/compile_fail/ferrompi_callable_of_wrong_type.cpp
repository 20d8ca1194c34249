// expect: a callable that takes two elements and returns one
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

double run(const Communicator& world, double value) {
#ifdef FIXED
  return world.allreduce(value, [](double a, double b) { return a + b; });
#else
  return world.allreduce(value, [](double a) { return a; });
#endif
}
