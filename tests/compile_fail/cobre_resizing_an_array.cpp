// expect: the other ranks must be able to resize the container
#include <cobre/comm.hpp>

#include <array>
#include <string>

void misuse(const cobre::comm::LocalBackend& comm) {
#ifdef FIXED
  std::string text = "known to the root alone";
  comm.broadcast_resized(text, 0);
#else
  std::array<char, 8> text{};
  comm.broadcast_resized(text, 0);
#endif
}
