// Splitting the world: by colour, by key, and by what shares memory.
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <iostream>
#include <optional>
#include <stdexcept>

using ferrompi::ReduceOp;

// Whoever gives a colour is in a part.
ferrompi::Communicator sure(std::optional<ferrompi::Communicator> part) {
  if (!part) throw std::logic_error("a colour, but no part");
  return std::move(*part);
}

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const int rank = world.rank();
  const int size = world.size();

  // Even and odd ranks, in their old order.
  const auto parity = sure(world.split(rank % 2, rank));
  expect(parity.rank() == rank / 2, "the rank among its kind");
  int sum = 0;
  for (int r = rank % 2; r < size; r += 2) sum += r;
  expect(parity.allreduce(rank, ReduceOp::Sum) == sum, "the sum over one parity");

  // The same ranks in reverse order: the key decides.
  const auto reversed = sure(world.split(0, -rank));
  expect(reversed.rank() == size - 1 - rank, "the reversed rank");

  // A rank may stay out.
  const auto others = world.split(rank == 0 ? ferrompi::undefined : 1, rank);
  expect(others.has_value() == (rank != 0), "who takes part");
  if (others) expect(others->size() == size - 1, "all but rank 0");

  // The ranks of this machine, which can share memory.
  const auto node = world.split_shared();
  expect(node.allreduce(1, ReduceOp::Sum) == node.size(), "the ranks of the node");

  // Messages of a duplicate never meet those of the original.
  const auto copy = world.duplicate();
  expect(copy.rank() == rank && copy.size() == size, "the duplicate");

  if (rank == 0) std::cout << size << " ranks, " << parity.size() << " of them even\n";
}
