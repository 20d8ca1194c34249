// expect: send and recv must have the same element type
#include <cobre/comm.hpp>

#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
  const std::vector<float> send(3);
#ifdef FIXED
  std::vector<float> recv(3);
  comm.allreduce(send, recv, cobre::comm::ReduceOp::Sum);
#else
  std::vector<double> recv(3);
  comm.allreduce(send, recv, cobre::comm::ReduceOp::Sum);
#endif
}
