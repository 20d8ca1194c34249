// Hydrothermal dispatch by stochastic dual dynamic programming, on any backend. docs/sddp.md explains it.
#include <cobre/comm.hpp>

#include "application.hpp"

int main(int argc, char** argv) {
  return cobre::comm::run([&](const auto& comm) {
    const std::span<const char* const> arguments(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0));
    return sddp::application(comm, arguments);
  });
}
