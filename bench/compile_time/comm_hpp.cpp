// A file that includes everything, and calls one operation.
#include <cobre/comm.hpp>

double total(double local, const cobre::comm::CommBackend& comm) {
  return comm.allreduce(local, cobre::comm::ReduceOp::Sum);
}
