// Inside somebody else's program: no launcher, no environment variables, no main of our own. A function takes any
// communicator; who calls it decides what that is.
#include <unistd.h>
#include <cobre/comm.hpp>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

/// A library function: parallel, and none the wiser about how.
template <cobre::comm::Communicator C>
double parallel_sum(const C& comm, std::size_t count) {
  std::uint64_t mine = 0;
  for (std::size_t i = comm.rank(); i < count; i += comm.size()) mine += i;
  return static_cast<double>(comm.allreduce(mine, cobre::comm::ReduceOp::Sum));
}

void report(const char* how, double sum) {
  std::printf("%-24s %.0f\n", how, sum);
}

}  // namespace

int main() {
  constexpr std::size_t count = 1001;
  report("one rank:", parallel_sum(cobre::comm::LocalBackend(), count));

#ifdef COBRE_COMM_HAS_SHM
  // Three threads of this process as three ranks that share memory.
  std::vector<std::thread> ranks;
  ranks.reserve(3);
  const std::string name = "library-" + std::to_string(getpid());
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&name, rank] {
      cobre::comm::ShmConfig config;
      config.name = name;
      config.rank = rank;
      config.size = 3;
      const auto comm = cobre::comm::create_communicator(config);
      const double sum = parallel_sum(comm, count);
      if (comm.rank() == 0) report("three threads:", sum);
    });
  }
  for (std::thread& rank : ranks) rank.join();
#endif
}
