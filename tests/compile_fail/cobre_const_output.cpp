// expect: its elements must not be const
#include <cobre/comm.hpp>

#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
#ifdef FIXED
  std::vector<double> buffer(4);
  comm.broadcast(buffer, 0);
#else
  const std::vector<double> buffer(4);
  comm.broadcast(buffer, 0);
#endif
}
