// expect: std::vector<bool> packs bits
#include <cobre/comm.hpp>

#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
#ifdef FIXED
  std::vector<char> flags(8);
  comm.broadcast(flags, 0);
#else
  std::vector<bool> flags(8);
  comm.broadcast(flags, 0);
#endif
}
