// expect: pass a named container or a span, not a temporary that dies with the call
#include <cobre/comm.hpp>

#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
  const auto channel = comm.channel(0, 1);
#ifdef FIXED
  std::vector<double> values(4);
  channel.recv(values);
#else
  channel.recv(std::vector<double>(4));
#endif
}
