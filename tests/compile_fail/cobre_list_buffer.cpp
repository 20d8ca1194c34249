// expect: a buffer must be a contiguous range
#include <cobre/comm.hpp>

#include <list>
#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
#ifdef FIXED
  std::vector<double> buffer(4);
  comm.broadcast(buffer, 0);
#else
  std::list<double> buffer(4);
  comm.broadcast(buffer, 0);
#endif
}
