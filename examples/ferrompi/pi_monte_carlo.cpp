// Pi by throwing darts: embarrassingly parallel, with one reduction at the end.
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <cmath>
#include <cstdint>
#include <iostream>
#include <numbers>
#include <random>

using ferrompi::ReduceOp;

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();

  constexpr std::uint64_t darts_in_all = 4'000'000;
  const auto size = static_cast<std::uint64_t>(world.size());
  const auto rank = static_cast<std::uint64_t>(world.rank());
  // The remainder goes to the first ranks, one dart each.
  const std::uint64_t darts = darts_in_all / size + (rank < darts_in_all % size ? 1 : 0);

  const double begin = ferrompi::Mpi::wtime();
  std::mt19937_64 random(2024 + rank);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < darts; ++i) {
    const double x = uniform(random);
    const double y = uniform(random);
    if (x * x + y * y <= 1.0) ++hits;
  }
  const double seconds = ferrompi::Mpi::wtime() - begin;

  expect(world.allreduce(darts, ReduceOp::Sum) == darts_in_all, "no dart is lost");
  const std::uint64_t all_hits = world.allreduce(hits, ReduceOp::Sum);
  const double slowest = world.reduce(seconds, ReduceOp::Max, 0);
  const double pi = 4.0 * static_cast<double>(all_hits) / static_cast<double>(darts_in_all);
  expect(std::abs(pi - std::numbers::pi) < 0.01, "pi");

  if (world.rank() == 0) {
    expect(slowest >= seconds, "the slowest rank is not faster than this one");
    std::cout << "pi is about " << pi << ", after " << slowest << " s on the slowest of " << size << " ranks\n";
  }
}
