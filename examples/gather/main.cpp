// Ranges of different lengths, joined in the order of the ranks: one line, and nobody counts.
#include <cobre/comm.hpp>

#include <cstdio>
#include <stdexcept>
#include <vector>

int main() {
  return cobre::comm::run([](const auto& comm) {
    const std::vector<double> mine(comm.rank() + 1, static_cast<double>(comm.rank()));

    const auto all = comm.allgatherv(mine);

    for (std::size_t rank = 0; rank < comm.size(); ++rank) {
      for (std::size_t i = 0; i < all.counts[rank]; ++i) {
        if (all.values[all.displs[rank] + i] != static_cast<double>(rank)) throw std::runtime_error("out of order");
      }
    }
    if (comm.rank() == 0) std::printf("%zu values from %zu rank(s)\n", all.values.size(), all.counts.size());
  });
}
