// expect: give a buffer for the result, move the container in
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

auto run(const Communicator& world, std::vector<double>& data) {
#ifdef FIXED
  return world.iallreduce(std::move(data), ReduceOp::Sum);
#else
  return world.iallreduce(data, ReduceOp::Sum);
#endif
}
