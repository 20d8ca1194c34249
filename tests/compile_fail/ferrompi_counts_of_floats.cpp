// expect: counts and displacements are contiguous ranges of integers
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

void run(const Communicator& world, const std::vector<double>& send, std::vector<double>& recv) {
#ifdef FIXED
  const std::vector<int> counts(4, 1);
#else
  const std::vector<double> counts(4, 1);
#endif
  const std::vector<int> displs(4, 0);
  world.allgatherv(send, recv, counts, displs);
}
