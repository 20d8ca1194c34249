// expect: const double
#include <cobre/comm.hpp>

#include <span>

void misuse(const cobre::comm::LocalBackend& comm) {
  const auto region = comm.create_shared_region<double>(8);
#ifdef FIXED
  const std::span<const double> view = region.as_span();
#else
  const std::span<double> view = region.as_span();
#endif
  static_cast<void>(view);
}
