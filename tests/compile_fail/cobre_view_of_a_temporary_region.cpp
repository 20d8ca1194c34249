// expect: deleted
#include <cobre/comm.hpp>

void misuse(const cobre::comm::LocalBackend& comm) {
#ifdef FIXED
  const auto region = comm.create_shared_region<double>(8);
  const auto view = region.as_span();
#else
  const auto view = comm.create_shared_region<double>(8).as_span();
#endif
  static_cast<void>(view);
}
