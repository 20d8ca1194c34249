// expect: ignoring return value
#include <cobre/comm.hpp>

void misuse(const cobre::comm::LocalBackend& comm) {
  double value = 1.0;
#ifdef FIXED
  value = comm.broadcast(value, 0);
  static_cast<void>(value);
#else
  comm.broadcast(value, 0);  // the result is what it returns
#endif
}
