// expect: pointers, spans and views mean nothing in another process
#include <cobre/comm.hpp>

void misuse(const cobre::comm::LocalBackend& comm) {
  const double value = 1.0;
#ifdef FIXED
  static_cast<void>(comm.broadcast(value, 0));
#else
  static_cast<void>(comm.broadcast(&value, 0));
#endif
}
