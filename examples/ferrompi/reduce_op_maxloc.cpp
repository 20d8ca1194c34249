// Who has the largest value, and what is it?
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <iostream>
#include <vector>

using ferrompi::ReduceOp;
using ferrompi::ValueIndex;

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const int rank = world.rank();
  const int size = world.size();

  const ValueIndex<double> mine = {1.5 * rank, rank};
  const auto largest = world.allreduce(mine, ReduceOp::MaxLoc);
  expect(largest.value == 1.5 * (size - 1) && largest.index == size - 1, "the largest and its rank");
  const auto smallest = world.allreduce(mine, ReduceOp::MinLoc);
  expect(smallest.value == 0.0 && smallest.index == 0, "the smallest and its rank");

  // Element by element; of equal values the lowest index wins.
  const std::vector<ValueIndex<double>> send = {mine, {42.0, rank}};
  std::vector<ValueIndex<double>> recv(2);
  world.allreduce(send, recv, ReduceOp::MaxLoc);
  expect(recv[0] == largest && recv[1] == ValueIndex<double>{42.0, 0}, "element by element");

  // A pair is data like any other: it can be broadcast.
  auto winner = rank == 0 ? largest : ValueIndex<double>{};
  winner = world.broadcast(winner, 0);
  expect(winner == largest, "the broadcast pair");

  // Pairs have no sum.
  try {
    (void)world.allreduce(mine, ReduceOp::Sum);
    expect(false, "the sum of pairs");
  } catch (const ferrompi::InvalidOp&) {
  }

  if (rank == 0) std::cout << "rank " << largest.index << " has the largest value, " << largest.value << '\n';
}
