// Operations that go on while the rank computes. A request borrows its buffers; what is moved in, it owns.
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <array>
#include <cmath>
#include <iostream>
#include <numeric>
#include <utility>
#include <vector>

using ferrompi::ReduceOp;

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const int rank = world.rank();
  const int size = world.size();

  // Broadcast and compute at once: the table may be read after wait().
  std::vector<double> table(1000);
  if (rank == 0) std::iota(table.begin(), table.end(), 0.0);
  auto arriving = world.ibroadcast(table, 0);
  double busy = 0;
  for (int i = 1; i < 1000; ++i) busy += 1.0 / i;
  arriving.wait();
  expect(table[999] == 999.0 && busy > 7.0, "the table");

  // A container that is moved in comes back with the result. Nothing can dangle.
  auto pending = world.iallreduce(std::vector<double>(100, rank), ReduceOp::Sum);
  const std::vector<double> sums = pending.get();
  expect(sums[99] == size * (size - 1) / 2.0, "the sums");

  // Several at once.
  std::array<std::vector<int>, 3> buffers;
  std::vector<ferrompi::Request> requests;
  for (int i = 0; i < 3; ++i) {
    auto& buffer = buffers[static_cast<std::size_t>(i)];
    buffer.assign(10, rank == 0 ? i + 1 : 0);
    requests.push_back(world.ibroadcast(buffer, 0));
  }
  ferrompi::wait_all(requests);
  for (int i = 0; i < 3; ++i) expect(buffers[static_cast<std::size_t>(i)][9] == i + 1, "each broadcast");

  // Or look in from time to time.
  const int mine = rank + 1;
  auto maximum = world.iallreduce(mine, ReduceOp::Max);
  while (!maximum.test()) {
  }
  expect(maximum.get() == size, "the largest");

  if (rank == 0) std::cout << "computed while " << size << " ranks talked\n";
}
