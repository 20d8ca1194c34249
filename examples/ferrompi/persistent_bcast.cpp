// The same communication again and again: set it up once, then only start and wait.
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <algorithm>
#include <iostream>
#include <vector>

using ferrompi::ReduceOp;

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const int rank = world.rank();
  const int size = world.size();
  constexpr int rounds = 100;

  // The buffers are borrowed: they live as long as the plans, and stay where they are.
  std::vector<double> state(1000);
  std::vector<double> contribution(500);
  std::vector<double> sums(500);
  auto spread = world.broadcast_init(state, 0);
  auto collect = world.allreduce_init(contribution, sums, ReduceOp::Sum);

  for (int round = 0; round < rounds; ++round) {
    std::ranges::fill(state, rank == 0 ? round : -1.0);
    std::ranges::fill(contribution, round + rank);
    spread.start();
    collect.start();
    spread.wait();
    collect.wait();
    expect(state.front() == round && state.back() == round, "this round's state");
    const double expected = size * round + size * (size - 1) / 2.0;
    expect(sums.front() == expected && sums.back() == expected, "this round's sums");
  }

  const double begin = ferrompi::Mpi::wtime();
  for (int round = 0; round < rounds; ++round) {
    spread.start();
    spread.wait();
  }
  const double middle = ferrompi::Mpi::wtime();
  for (int round = 0; round < rounds; ++round) world.broadcast(state, 0);
  const double end = ferrompi::Mpi::wtime();
  if (rank == 0) {
    std::cout << "persistent (" << (spread.is_native() ? "native" : "over the nonblocking call") << ") "
              << (middle - begin) / rounds * 1e6 << " us, plain " << (end - middle) / rounds * 1e6
              << " us for a broadcast of " << state.size() << " doubles\n";
  }
}
