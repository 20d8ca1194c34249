// expect: pass a named container or a span
#include <cobre/comm.hpp>

#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
  const std::vector<double> all(3);
#ifdef FIXED
  std::vector<double> mine(3);
  comm.scatter(all, mine, 0);
#else
  comm.scatter(all, std::vector<double>(3), 0);
#endif
}
