// expect: deleted
#include <cobre/comm.hpp>

#include <utility>

void misuse(const cobre::comm::LocalBackend& comm) {
  static_cast<void>(comm);
  cobre::comm::LocalBackend mine;
#ifdef FIXED
  const cobre::comm::LocalBackend another = std::move(mine);
#else
  const cobre::comm::LocalBackend another = mine;
#endif
  static_cast<void>(another);
}
