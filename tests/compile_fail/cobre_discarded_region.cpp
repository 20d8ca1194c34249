// expect: ignoring return value
#include <cobre/comm.hpp>

void misuse(const cobre::comm::LocalBackend& comm) {
#ifdef FIXED
  const auto region = comm.create_shared_region<double>(8);
  region.fence();
#else
  comm.create_shared_region<double>(8);
#endif
}
