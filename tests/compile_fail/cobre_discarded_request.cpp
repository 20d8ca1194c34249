// expect: ignoring return
#include <cobre/comm.hpp>

void misuse(const cobre::comm::LocalBackend& comm) {
#ifdef FIXED
  auto request = comm.ibarrier();
  request.wait();
#else
  comm.ibarrier();
#endif
}
