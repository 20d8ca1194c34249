// expect: op must be a ReduceOp or a callable that takes two elements and returns one
#include <cobre/comm.hpp>

#include <string>

void misuse(const cobre::comm::LocalBackend& comm) {
#ifdef FIXED
  static_cast<void>(comm.allreduce(1.0, [](double a, double b) { return a + b; }));
#else
  static_cast<void>(comm.allreduce(1.0, [](std::string a, std::string b) { return a + b; }));
#endif
}
