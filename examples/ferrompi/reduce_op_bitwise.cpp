// Bits: sets of flags that all ranks agree on.
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <cstdint>
#include <iostream>
#include <vector>

using ferrompi::ReduceOp;

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const int rank = world.rank();
  const int size = world.size();

  // Each rank sets its own bit.
  const std::uint64_t seen = world.allreduce(std::uint64_t{1} << rank, ReduceOp::BitwiseOr);
  expect(seen == (std::uint64_t{1} << size) - 1, "every rank's bit");

  // 3 and 5, as many times as there are ranks.
  const std::uint32_t bits = rank % 2 == 0 ? 3 : 5;
  if (size > 1) {
    expect(world.allreduce(bits, ReduceOp::BitwiseOr) == 7, "3 or 5");
    expect(world.allreduce(bits, ReduceOp::BitwiseAnd) == 1, "3 and 5");
  }
  std::uint32_t expected = 0;
  for (int r = 0; r < size; ++r) expected ^= r % 2 == 0 ? 3u : 5u;
  expect(world.allreduce(bits, ReduceOp::BitwiseXor) == expected, "3 xor 5 xor ...");

  // Truth, for whoever must know whether all are done.
  expect(world.allreduce(true, ReduceOp::LogicalAnd), "all are done");
  expect(world.allreduce(rank == 0, ReduceOp::LogicalOr), "somebody is rank 0");

  // Bits of floating-point numbers mean nothing: refused before anything is sent, so nobody waits.
  try {
    (void)world.allreduce(1.0, ReduceOp::BitwiseOr);
    expect(false, "bitwise or of doubles");
  } catch (const ferrompi::InvalidOp& error) {
    if (rank == 0) std::cout << "refused as it should be: " << error.what() << '\n';
  }
}
