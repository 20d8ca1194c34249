// expect: ignoring return value
#include <cobre/comm.hpp>

void misuse(const cobre::comm::LocalBackend& comm) {
#ifdef FIXED
  static_cast<void>(comm.scan(1.0, cobre::comm::ReduceOp::Sum));
#else
  comm.scan(1.0, cobre::comm::ReduceOp::Sum);
#endif
}
