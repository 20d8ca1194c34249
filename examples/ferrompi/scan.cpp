// Running totals over ranks: where does this rank's share begin?
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <iostream>
#include <vector>

using ferrompi::ReduceOp;

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const int rank = world.rank();

  // Up to and including this rank.
  expect(world.scan(1, ReduceOp::Sum) == rank + 1, "how many ranks so far");

  // Before this rank: the offset at which its share begins. Rank 0 has nobody before it and gets 0.
  const int share = rank + 1;
  const int offset = world.exscan(share, ReduceOp::Sum);
  expect(offset == rank * (rank + 1) / 2, "where the share begins");

  // Ranges, element by element.
  const std::vector<double> send = {1.0, static_cast<double>(rank)};
  std::vector<double> recv(2);
  world.scan(send, recv, ReduceOp::Sum);
  expect(recv[0] == rank + 1 && recv[1] == rank * (rank + 1) / 2.0, "the running sums");

  recv = {-1.0, -1.0};
  world.exscan(send, recv, ReduceOp::Sum);
  if (rank == 0) {
    expect(recv[0] == -1.0, "rank 0's buffer stays as it was");
  } else {
    expect(recv[0] == rank && recv[1] == rank * (rank - 1) / 2.0, "the sums before this rank");
  }

  // The highest water so far.
  const int level = rank % 2 == 0 ? rank : 0;
  expect(world.scan(level, ReduceOp::Max) == rank - rank % 2, "the running maximum");

  if (rank == world.size() - 1) std::cout << offset + share << " items in all\n";
}
