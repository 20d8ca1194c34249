// The blocking collectives, one after the other.
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <algorithm>
#include <iostream>
#include <numeric>
#include <vector>

using ferrompi::ReduceOp;

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const int rank = world.rank();
  const int size = world.size();
  const auto n = static_cast<std::size_t>(size);
  const double sum_of_ranks = size * (size - 1) / 2.0;

  // One value in, one value out.
  expect(world.allreduce(static_cast<double>(rank), ReduceOp::Sum) == sum_of_ranks, "the sum of a value");
  expect(world.allreduce(rank, ReduceOp::Max) == size - 1, "the largest rank");

  // Ranges.
  std::vector<double> send(5, rank);
  std::vector<double> recv(5);
  world.allreduce(send, recv, ReduceOp::Sum);
  expect(std::ranges::all_of(recv, [&](double x) { return x == sum_of_ranks; }), "the sum of a range");

  world.allreduce_inplace(send, ReduceOp::Sum);
  expect(send == recv, "the sum in place");

  // A callable works as an operation too, with whatever it captures.
  const int limit = size;
  const int capped =
      world.allreduce(rank + 1, ferrompi::commutative([limit](int a, int b) { return std::min(a + b, limit); }));
  expect(capped == limit, "a sum that stops at a limit");

  // To and from one rank.
  std::vector<int> table(10);
  if (rank == 0) std::iota(table.begin(), table.end(), 1);
  world.broadcast(table, 0);
  expect(table.front() == 1 && table.back() == 10, "the table of rank 0");

  const double total = world.reduce(1.0 + rank, ReduceOp::Sum, 0);
  if (rank == 0) expect(total == size * (size + 1) / 2.0, "the sum at the root");

  const std::vector<int> pair = {10 * rank, 10 * rank + 1};
  std::vector<int> gathered(rank == 0 ? 2 * n : 0);  // elsewhere it is ignored
  world.gather(pair, gathered, 0);
  if (rank == 0) expect(gathered.back() == 10 * (size - 1) + 1, "the last pair");

  std::vector<int> everything(2 * n);
  world.allgather(pair, everything);
  for (int r = 0; r < size; ++r) expect(everything[2 * static_cast<std::size_t>(r)] == 10 * r, "every pair");

  std::vector<int> parts;
  if (rank == 0) {
    parts.resize(3 * n);
    std::iota(parts.begin(), parts.end(), 0);
  }
  std::vector<int> part(3);
  world.scatter(parts, part, 0);
  expect(part == std::vector<int>{3 * rank, 3 * rank + 1, 3 * rank + 2}, "this rank's part");

  if (rank == 0) std::cout << "all collectives agree on " << size << " ranks\n";
}
