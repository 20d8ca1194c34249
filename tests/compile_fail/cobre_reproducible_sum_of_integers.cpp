// expect: reproducible_sum adds float or double
#include <cobre/comm.hpp>

#include <vector>

long sum(const cobre::comm::LocalBackend& comm, const std::vector<long>& values) {
#ifdef FIXED
  long mine = 0;
  for (const long value : values) mine += value;
  return comm.allreduce(mine, cobre::comm::ReduceOp::Sum);  // integers add up the same in any order
#else
  return comm.reproducible_sum(values);
#endif
}
