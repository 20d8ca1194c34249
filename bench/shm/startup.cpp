// How long eight ranks on one machine need to come together.

#include <cobre/comm.hpp>

#include <string>

#include "startup.hpp"

int main() {
  constexpr std::size_t size = 8;
  const bool worked = bench::report_startup<size>("shm", 50, [](int round, std::size_t rank) {
    cobre::comm::ShmConfig config;
    config.name = "startup-" + std::to_string(getppid()) + "-" + std::to_string(round);
    config.rank = rank;
    config.size = size;
    return cobre::comm::ShmBackend::attach(config);
  });
  return worked ? 0 : 1;
}
