// expect: pointers, spans and views mean nothing in another process
#include <cobre/comm.hpp>

#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
  int value = 1;
#ifdef FIXED
  std::vector<int> elements{value};
  comm.broadcast(elements, 0);
#else
  std::vector<int*> elements{&value};
  comm.broadcast(elements, 0);
#endif
}
