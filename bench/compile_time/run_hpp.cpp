// A file with the one-line main, compiled for every backend: it includes run(), and nothing else.
#include <cobre/comm/run.hpp>

int start() {
  return cobre::comm::run([](const auto& comm) { comm.barrier(); });
}
