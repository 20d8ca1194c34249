// expect: as_mut_span
#include <cobre/comm.hpp>

void misuse(const cobre::comm::LocalBackend& comm) {
#ifdef FIXED
  auto region = comm.create_shared_region<double>(8);
  region.as_mut_span()[0] = 1.0;
#else
  const auto region = comm.create_shared_region<double>(8);
  region.as_mut_span()[0] = 1.0;
#endif
}
