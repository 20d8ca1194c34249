// Where does the job run? Rank 0 prints the report; every rank has it.
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <iostream>

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();

  const auto topology = world.topology();
  expect(topology.size() == world.size(), "the number of processes");
  int ranks = 0;
  for (const auto& host : topology.hosts()) ranks += static_cast<int>(host.ranks.size());
  expect(ranks == world.size(), "every rank is on one host");
  expect(topology.thread_level() == mpi.thread_level(), "the thread level");

  if (world.rank() == 0) std::cout << topology << '\n';
}
