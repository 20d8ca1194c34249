// expect: elements must be trivially copyable
#include <cobre/comm.hpp>

#include <string>
#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
#ifdef FIXED
  std::string text(16, ' ');
  comm.broadcast(text, 0);
#else
  std::vector<std::string> texts(2);
  comm.broadcast(texts, 0);
#endif
}
