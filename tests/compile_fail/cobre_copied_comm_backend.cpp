// expect: deleted
#include <cobre/comm.hpp>

#include <utility>

void misuse(const cobre::comm::LocalBackend& comm) {
  static_cast<void>(comm);
  cobre::comm::CommBackend mine{cobre::comm::LocalBackend()};
#ifdef FIXED
  const cobre::comm::CommBackend another = std::move(mine);
#else
  const cobre::comm::CommBackend another = mine;
#endif
  static_cast<void>(another);
}
