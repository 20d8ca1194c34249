// expect: pointers, spans and views mean nothing in another process
#include <cobre/comm.hpp>

#include <span>
#include <vector>

void misuse(const cobre::comm::LocalBackend& comm) {
  std::vector<double> row(4);
#ifdef FIXED
  comm.broadcast(row, 0);
#else
  std::vector<std::span<double>> rows{row};
  comm.broadcast(rows, 0);
#endif
}
