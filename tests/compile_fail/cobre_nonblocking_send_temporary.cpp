// expect: the operation goes on after this call: pass a named container or a span
#include <cobre/comm.hpp>

#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
  std::vector<double> recv(4);
#ifdef FIXED
  const std::vector<double> send(4);
  comm.iallreduce(send, recv, cobre::comm::ReduceOp::Sum).wait();
#else
  comm.iallreduce(std::vector<double>(4), recv, cobre::comm::ReduceOp::Sum).wait();
#endif
}
