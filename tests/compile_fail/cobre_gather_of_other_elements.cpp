// expect: send and recv must have the same element type
#include <cobre/comm.hpp>

#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
  const std::vector<float> mine(3);
#ifdef FIXED
  std::vector<float> all(3);
#else
  std::vector<double> all(3);
#endif
  comm.gather(mine, all, 0);
}
