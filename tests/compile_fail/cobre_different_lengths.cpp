// expect: send and recv have different lengths
#include <cobre/comm.hpp>

#include <array>

void misuse(const cobre::comm::LocalBackend& comm) {
  const std::array<double, 3> send{};
#ifdef FIXED
  std::array<double, 3> recv{};
  comm.allreduce(send, recv, cobre::comm::ReduceOp::Sum);
#else
  std::array<double, 4> recv{};
  comm.allreduce(send, recv, cobre::comm::ReduceOp::Sum);
#endif
}
