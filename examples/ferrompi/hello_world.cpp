// The smallest program: start MPI, say who is there, end MPI.
//
//     mpirun -n 4 ./hello_world
#include <ferrompi/ferrompi.hpp>

#include <iostream>
#include <sstream>

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();

  std::ostringstream line;  // one write a line, so that the lines of several ranks do not mix
  line << "Hello from rank " << world.rank() << " of " << world.size() << " on " << world.processor_name() << '\n';
  std::cout << line.str() << std::flush;

  world.barrier();
  if (world.rank() == 0) {
    std::cout << ferrompi::Mpi::version() << ", threads: " << mpi.thread_level() << '\n';
  }
}
