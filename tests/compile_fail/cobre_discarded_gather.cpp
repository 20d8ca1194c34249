// expect: ignoring return value
#include <cobre/comm.hpp>

#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
  const std::vector<double> mine(3);
#ifdef FIXED
  const auto all = comm.allgatherv(mine);
  static_cast<void>(all);
#else
  comm.allgatherv(mine);
#endif
}
