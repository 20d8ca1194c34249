// expect: ignoring return value
#include <cobre/comm.hpp>

void misuse(const cobre::comm::LocalBackend& comm) {
  double value = 1.0;
#ifdef FIXED
  value = comm.allreduce(value, cobre::comm::ReduceOp::Sum);
  static_cast<void>(value);
#else
  comm.allreduce(value, cobre::comm::ReduceOp::Sum);
#endif
}
