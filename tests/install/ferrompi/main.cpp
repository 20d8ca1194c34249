// A program of someone else's, who has installed ferrompi and nothing else of this tree.
#include <ferrompi/ferrompi.hpp>

#include <cstdio>

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const int sum = world.allreduce(world.rank() + 1, ferrompi::ReduceOp::Sum);
  const bool right = sum == world.size() * (world.size() + 1) / 2;
  if (world.rank() == 0) std::printf("ferrompi on %d ranks: %s\n", world.size(), right ? "consumed" : "wrong");
  return right ? 0 : 1;
}
