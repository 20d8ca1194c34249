// Is a repeated call with the same buffers faster as a persistent one? The blocking call beside start and wait of a
// persistent request, and beside the nonblocking call and its wait, for the messages of the training loop.
//
//     mpirun -n 2 bench_mpi_persistent
#include "contest.hpp"

#include <cstdint>
#include <cstdio>
#include <numeric>

namespace {

using ferrompi::Communicator;
using ferrompi::ReduceOp;

void report(const Communicator& world, const char* operation, std::size_t bytes, bool native,
            const bench::Outcome& outcome) {
  if (world.rank() != 0) return;
  std::printf("%-12s %9zu %12.2f us %+8.1f%% %+12.1f%% %+12.1f%% %8s\n", operation, bytes, outcome.microseconds,
              outcome.noise * 100, (outcome.ratios[0] - 1) * 100, (outcome.ratios[1] - 1) * 100, native ? "yes" : "no");
}

constexpr int rounds = 41;
constexpr double batch = 4000;

void allreduce(const Communicator& world, std::size_t count) {
  std::vector<std::uint64_t> send(count, 1), recv(count);
  auto plan = world.allreduce_init(send, recv, ReduceOp::Sum);
  const auto outcome = bench::compete(world,
                                      {[&] { world.allreduce(send, recv, ReduceOp::Sum); },
                                       [&] {
                                         plan.start();
                                         plan.wait();
                                       },
                                       [&] { world.iallreduce(send, recv, ReduceOp::Sum).wait(); }},
                                      rounds, batch);
  report(world, "allreduce", count * 8, plan.is_native(), outcome);
}

void allgatherv(const Communicator& world, std::size_t total) {
  const auto size = static_cast<std::size_t>(world.size());
  const std::vector<int> counts(size, static_cast<int>(total / size));
  std::vector<int> displs(size);
  std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), 0);
  std::vector<double> send(total / size, 1), recv(total / size * size);
  auto plan = world.allgatherv_init(send, recv, counts, displs);
  const auto outcome = bench::compete(world,
                                      {[&] { world.allgatherv(send, recv, counts, displs); },
                                       [&] {
                                         plan.start();
                                         plan.wait();
                                       },
                                       [&] { world.iallgatherv(send, recv, counts, displs).wait(); }},
                                      rounds, batch);
  report(world, "allgatherv", recv.size() * 8, plan.is_native(), outcome);
}

}  // namespace

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  if (world.rank() == 0) {
    const auto version = ferrompi::Mpi::library_version();
    std::printf("%s, %d ranks: the blocking call, and how much longer the others take\n\n",
                version.substr(0, version.find_first_of(",\n")).c_str(), world.size());
    std::printf("%-12s %9s %15s %9s %13s %13s %8s\n", "operation", "bytes", "blocking", "noise", "persistent",
                "nonblocking", "native");
  }
  for (const std::size_t count : {1, 4, 128, 4800, 9600, 400'000}) allreduce(world, count);
  for (const std::size_t total : {4, 192, 28'800, 399'360}) allgatherv(world, total);
}
