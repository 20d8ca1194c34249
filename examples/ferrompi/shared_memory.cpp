// One table for all ranks of a machine: filled once, read by everybody, without a copy.
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <algorithm>
#include <iostream>
#include <numeric>

using ferrompi::LockType;
using ferrompi::ReduceOp;
using ferrompi::SharedWindow;

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const auto node = world.split_shared();
  const int rank = node.rank();

  // The leader of the node brings the memory, the others nothing.
  auto table = SharedWindow<double>::allocate(node, rank == 0 ? 1000 : 0);
  if (rank == 0) std::iota(table.local().begin(), table.local().end(), 0.0);
  table.fence();  // what the leader wrote is seen by all from here on
  const auto shared = table.remote(0);
  expect(shared.size() == 1000 && shared[999] == 999.0, "the leader's table");
  table.fence();

  // Everyone writes its own part, and reads its neighbour's.
  auto parts = SharedWindow<int>::allocate(node, 4);
  std::ranges::fill(parts.local(), rank);
  parts.fence();
  const int neighbour = (rank + 1) % node.size();
  expect(std::ranges::all_of(parts.remote(neighbour), [&](int x) { return x == neighbour; }), "the neighbour's part");

  // A counter that all increment: under a lock, or by an atomic operation without one.
  auto counter = SharedWindow<int>::allocate(node, rank == 0 ? 2 : 0);
  std::ranges::fill(counter.local(), 0);
  counter.fence();
  {
    auto guard = counter.lock(LockType::Exclusive, 0);
    ++guard.as_mut_span()[0];
  }
  {
    auto guard = counter.lock_all();
    guard.target(0).fetch_op(1, ReduceOp::Sum, 1);
  }
  counter.fence();
  expect(counter.remote(0)[0] == node.size() && counter.remote(0)[1] == node.size(), "both counters");

  if (rank == 0) std::cout << node.size() << " ranks share " << shared.size() << " numbers\n";
  counter.fence();  // nobody leaves while others still read
}
