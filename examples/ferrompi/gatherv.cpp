// Parts of different lengths: with counts that the library works out, and with counts that are known.
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <algorithm>
#include <iostream>
#include <vector>

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const int rank = world.rank();
  const int size = world.size();
  const auto n = static_cast<std::size_t>(size);

  // Rank r has r + 1 numbers. One line collects them all on every rank.
  const std::vector<double> local(static_cast<std::size_t>(rank) + 1, rank);
  const auto all = world.allgatherv(local);
  expect(all.values.size() == n * (n + 1) / 2, "how many there are");
  for (std::size_t r = 0; r < n; ++r) {
    expect(all.counts[r] == r + 1, "how many rank r has");
    for (std::size_t i = 0; i < all.counts[r]; ++i) {
      expect(all.values[all.displs[r] + i] == static_cast<double>(r), "what rank r has");
    }
  }

  // The counts are known: nothing needs to be exchanged first, and nothing is allocated.
  std::vector<int> counts(n);
  for (std::size_t r = 0; r < n; ++r) counts[r] = static_cast<int>(r) + 1;
  const auto displs = ferrompi::displacements(counts);
  std::vector<double> values(rank == 0 ? all.values.size() : 0);
  world.gatherv(local, values, counts, displs, 0);
  if (rank == 0) expect(values == all.values, "the same at the root");

  // Back again.
  std::vector<double> back(local.size());
  world.scatterv(values, counts, displs, back, 0);
  expect(back == local, "what was sent away came back");

  if (rank == 0) std::cout << "gathered " << values.size() << " numbers of " << size << " ranks\n";
}
