// expect: deleted
#include <cobre/comm.hpp>

#include <utility>

void misuse(const cobre::comm::LocalBackend& comm) {
  auto region = comm.create_shared_region<double>(8);
#ifdef FIXED
  const auto another = std::move(region);
#else
  const auto another = region;
#endif
}
