// expect: as_mut_span
#include <cobre/comm.hpp>

void misuse(const cobre::comm::CommBackend& comm) {
#ifdef FIXED
  auto region = comm.create_shared_region<double>(8);
  const auto view = region.as_mut_span();
#else
  const auto view = comm.create_shared_region<double>(8).as_mut_span();
#endif
  static_cast<void>(view);
}
