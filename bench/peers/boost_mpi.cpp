// Boost.MPI's side of the comparison: `peer <single|multiple> <batch> <total> <operation> <sizes>`.

#include <boost/mpi/collectives.hpp>
#include <boost/mpi/collectives/all_gatherv.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/mpi/operations.hpp>

#include <string_view>

#include "collectives.hpp"

namespace {

namespace mpi = boost::mpi;

struct Ranks {
  const mpi::communicator& world;
  int rank = world.rank();
  int size = world.size();

  explicit Ranks(const mpi::communicator& communicator) : world(communicator) {}

  void barrier() const { world.barrier(); }
  void allreduce(std::span<const double> send, std::span<double> recv) const {
    mpi::all_reduce(world, send.data(), static_cast<int>(send.size()), recv.data(), std::plus<double>());
  }
  void broadcast(std::span<double> buffer) const {
    mpi::broadcast(world, buffer.data(), static_cast<int>(buffer.size()), 0);
  }
  void allgatherv(std::span<const double> send, std::span<double> recv, const bench::Parts& parts) const {
    mpi::all_gatherv(world, send.data(), recv.data(), parts.int_counts, parts.int_displs);
  }
  void slowest(std::span<double> times) const {
    mpi::all_reduce(world, mpi::inplace(times.data()), static_cast<int>(times.size()), mpi::maximum<double>());
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bool single = argc > 1 && std::string_view(argv[1]) == "single";
  const auto wanted = single ? mpi::threading::single : mpi::threading::multiple;
  const mpi::environment environment(argc, argv, wanted);
  const mpi::communicator world;
  Ranks ranks(world);
  if (mpi::environment::thread_level() < wanted) {
    if (ranks.rank == 0) std::fputs(bench::without_threads, stderr);
    return 1;
  }
  bench::pin(ranks.rank, ranks.size);
  bench::compete(ranks, bench::read_task(std::span(argv, static_cast<std::size_t>(argc)).subspan(2)));
}
