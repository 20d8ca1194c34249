// expect: pass a named container or a span, not a temporary that dies with the call
#include <cobre/comm.hpp>

#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
  const std::vector<double> send(4);
#ifdef FIXED
  std::vector<double> recv(4);
  comm.allreduce(send, recv, cobre::comm::ReduceOp::Sum);
#else
  comm.allreduce(send, std::vector<double>(4), cobre::comm::ReduceOp::Sum);
#endif
}
