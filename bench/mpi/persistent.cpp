// Is a repeated call faster as a persistent one? The blocking call beside start and wait of a persistent request,
// beside the same over buffers of our own that a table finds by what all ranks know of the call, and beside the
// nonblocking call and its wait, for the messages of the training loop.
//
//     mpirun -n 2 bench_mpi_persistent
#include "contest.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>

namespace {

using ferrompi::Communicator;
using ferrompi::PersistentRequest;
using ferrompi::ReduceOp;

constexpr int rounds = 41;
constexpr double batch = 4000;
constexpr std::size_t most_bytes_of_a_plan = 1024;

// What a library that repeats calls inside would do. Whether a rank passes the same buffers again is nothing that the
// others know, so the decision must rest on the signature and the request on buffers that belong to it.
struct Plan {
  std::array<std::uint64_t, 3> signature;
  std::array<std::byte, most_bytes_of_a_plan> send, recv;
  std::optional<PersistentRequest> request;

  void run(const void* from, std::size_t sent, void* to, std::size_t received) {
    std::memcpy(send.data(), from, sent);
    request->start();
    request->wait();
    std::memcpy(to, recv.data(), received);
  }
};

class Plans {
 public:
  Plan& add(std::array<std::uint64_t, 3> signature) {
    plans_[0].signature = signature;
    return plans_[0];
  }
  Plan* find(const std::array<std::uint64_t, 3>& signature) {
    for (auto& plan : plans_) {
      if (plan.signature == signature) return &plan;
    }
    return nullptr;
  }

 private:
  std::array<Plan, 4> plans_;
};

template <class T>
std::span<T> as_elements(std::array<std::byte, most_bytes_of_a_plan>& bytes, std::size_t count) {
  return {reinterpret_cast<T*>(bytes.data()), count};
}

// `planned` is empty where the message is longer than a plan.
void compare(const Communicator& world, const char* operation, std::size_t bytes, PersistentRequest request,
             const std::function<void()>& blocking, const std::function<void()>& nonblocking,
             const std::function<void()>& planned) {
  std::vector<std::function<void()>> contenders{blocking,
                                                [&] {
                                                  request.start();
                                                  request.wait();
                                                },
                                                nonblocking};
  if (planned) contenders.push_back(planned);
  const auto outcome = bench::compete(world, std::move(contenders), rounds, batch);
  if (world.rank() != 0) return;
  std::printf("%-12s %9zu %12.2f us %+8.1f%% %+12.1f%% %+12.1f%%", operation, bytes, outcome.microseconds,
              outcome.noise * 100, (outcome.ratios[0] - 1) * 100, (outcome.ratios[1] - 1) * 100);
  planned ? std::printf(" %+12.1f%%", (outcome.ratios[2] - 1) * 100) : std::printf(" %13s", "");
  std::printf(" %8s\n", request.is_native() ? "yes" : "no");
}

void barrier(const Communicator& world) {
  compare(
      world, "barrier", 0, world.barrier_init(), [&] { world.barrier(); }, [&] { world.ibarrier().wait(); }, nullptr);
}

void broadcast(const Communicator& world, std::size_t count) {
  std::vector<std::uint64_t> data(count, 1);
  Plans plans;
  auto& made = plans.add({1, count, 8});
  if (count * 8 <= most_bytes_of_a_plan)
    made.request.emplace(world.broadcast_init(as_elements<std::uint64_t>(made.send, count), 0));
  const bool root = world.rank() == 0;
  compare(
      world, "broadcast", count * 8, world.broadcast_init(data, 0), [&] { world.broadcast(data, 0); },
      [&] { world.ibroadcast(data, 0).wait(); },
      !made.request ? std::function<void()>{} : [&] {
        Plan* const plan = plans.find({1, data.size(), 8});
        if (root) std::memcpy(plan->send.data(), data.data(), data.size() * 8);
        plan->request->start();
        plan->request->wait();
        if (!root) std::memcpy(data.data(), plan->send.data(), data.size() * 8);
      });
}

void allreduce(const Communicator& world, std::size_t count) {
  std::vector<std::uint64_t> send(count, 1), recv(count);
  Plans plans;
  auto& made = plans.add({2, count, 8});
  if (count * 8 <= most_bytes_of_a_plan) {
    made.request.emplace(world.allreduce_init(as_elements<const std::uint64_t>(made.send, count),
                                              as_elements<std::uint64_t>(made.recv, count), ReduceOp::Sum));
  }
  compare(
      world, "allreduce", count * 8, world.allreduce_init(send, recv, ReduceOp::Sum),
      [&] { world.allreduce(send, recv, ReduceOp::Sum); }, [&] { world.iallreduce(send, recv, ReduceOp::Sum).wait(); },
      !made.request
          ? std::function<void()>{}
          : [&] { plans.find({2, send.size(), 8})->run(send.data(), send.size() * 8, recv.data(), recv.size() * 8); });
}

void allgatherv(const Communicator& world, std::size_t total) {
  const auto size = static_cast<std::size_t>(world.size());
  const std::vector<int> counts(size, static_cast<int>(total / size));
  std::vector<int> displs(size);
  std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), 0);
  std::vector<double> send(total / size, 1), recv(total / size * size);
  Plans plans;
  auto& made = plans.add({3, total, 8});
  if (total * 8 <= most_bytes_of_a_plan) {
    made.request.emplace(world.allgatherv_init(as_elements<const double>(made.send, send.size()),
                                               as_elements<double>(made.recv, recv.size()), counts, displs));
  }
  compare(
      world, "allgatherv", recv.size() * 8, world.allgatherv_init(send, recv, counts, displs),
      [&] { world.allgatherv(send, recv, counts, displs); },
      [&] { world.iallgatherv(send, recv, counts, displs).wait(); },
      !made.request ? std::function<void()>{} : [&] {
        // That all counts are those of the plan has to be seen before.
        const auto all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                                         [](std::uint64_t sum, int count) { return sum + static_cast<unsigned>(count); });
        Plan* const plan = plans.find({3, all, 8});
        if (plan == nullptr) world.abort(1);
        plan->run(send.data(), send.size() * 8, recv.data(), recv.size() * 8);
      });
}

}  // namespace

int main(int argc, char**) {
  const auto mpi =
      ferrompi::Mpi::init_thread(argc > 1 ? ferrompi::ThreadLevel::Multiple : ferrompi::ThreadLevel::Single);
  const auto world = mpi.world();
  if (world.rank() == 0) {
    const auto version = ferrompi::Mpi::library_version();
    std::printf("%s, %d ranks: the blocking call, and how much longer the others take\n\n",
                version.substr(0, version.find_first_of(",\n")).c_str(), world.size());
    std::printf("%-12s %9s %15s %9s %13s %13s %13s %8s\n", "operation", "bytes", "blocking", "noise", "persistent",
                "nonblocking", "own buffers", "native");
  }
  barrier(world);
  for (const std::size_t count : {1UL, 4UL, 32UL, 128UL}) broadcast(world, count);
  for (const std::size_t count : {1UL, 4UL, 32UL, 128UL, 4800UL, 9600UL, 400'000UL}) allreduce(world, count);
  for (const std::size_t total : {12UL, 36UL, 120UL, 28'800UL, 399'360UL}) allgatherv(world, total);
}
