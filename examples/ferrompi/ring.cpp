// A token goes once around the ring of ranks, and every rank adds to it. Rank 0 sends first, so nobody waits in a
// circle.
#include <ferrompi/ferrompi.hpp>

#include "expect.hpp"

#include <iostream>
#include <vector>

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const int rank = world.rank();
  const int size = world.size();
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  constexpr int tag = 7;

  // One value, sent by hand. Alone in the world there is nobody to send to.
  if (size > 1) {
    int token = 0;
    if (rank == 0) {
      world.send(rank, next, tag);
      const auto status = world.recv(token, previous, tag);
      expect(status.source() == previous && status.tag() == tag, "where the token came from");
      expect(token == size * (size - 1) / 2, "the sum of all ranks");
      std::cout << "the token came home with " << token << '\n';
    } else {
      token = world.recv<int>(previous, tag);
      world.send(token + rank, next, tag);
    }
  }

  // Everybody at once, and MPI finds the order: no even ranks that send first.
  const std::vector<double> mine = {10.0 * rank, 10.0 * rank + 1};
  std::vector<double> theirs(mine.size());
  const auto status = world.sendrecv(mine, next, tag, theirs, previous, tag);
  expect(status.count() == 2, "the length of the message");
  expect(theirs[0] == 10.0 * previous && theirs[1] == 10.0 * previous + 1, "what the neighbour sent");
}
