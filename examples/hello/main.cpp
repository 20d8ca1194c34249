// Every rank says who it is. The lines are gathered first, so they come out in order, and all from rank 0.
#include <cobre/comm.hpp>

#include <cstdio>
#include <string>

int main() {
  return cobre::comm::run([](const auto& comm) {
    const auto& topology = comm.topology();
    std::string host = "somewhere";
    for (const auto& candidate : topology.hosts) {
      for (const std::size_t rank : candidate.ranks) {
        if (rank == comm.rank()) host = candidate.hostname;
      }
    }
    const std::string line =
        "hello from rank " + std::to_string(comm.rank()) + " of " + std::to_string(comm.size()) + " on " + host + "\n";
    const auto lines = comm.allgatherv(line);
    if (comm.rank() != 0) return;
    std::fwrite(lines.values.data(), 1, lines.values.size(), stdout);
    std::printf("%zu rank(s), backend %s\n", comm.size(), to_string(topology.backend));
  });
}
