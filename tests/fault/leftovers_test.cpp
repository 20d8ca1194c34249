// What stays behind: nothing. No descriptor, no thread, no mapping and no file.

#include <dirent.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "fault/on_backends.hpp"
#include "support/mounts.hpp"

namespace {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;
using test::outcome_of;

// With the two that stand for the folder itself and the one above.
std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  DIR* const directory = opendir(folder);
  if (directory == nullptr) return 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

std::size_t our_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:cobre-comm") != std::string::npos ? 1 : 0;
  return count;
}

void use_everything(const CommBackend& comm) {
  auto region = comm.create_shared_region<double>(1000);
  const auto local = comm.split_local();
  local->barrier();
  region.fence();
  std::vector<double> data(100'000, 1.0);
  comm.allreduce_inplace(data, ReduceOp::Sum);
  comm.broadcast(data, 0);
  comm.iallreduce_inplace(data, ReduceOp::Max).wait();
  const auto part = comm.split(static_cast<int>(comm.rank() % 2));
  part->broadcast(data, 0);
  comm.node().barrier();
  const std::size_t next = (comm.rank() + 1) % comm.size();
  const std::size_t previous = (comm.rank() + comm.size() - 1) % comm.size();
  std::vector<double> received(data.size());
  comm.sendrecv(data, next, received, previous);
}

class Leftovers : public fault::OnBackends {
 protected:
  // Each rank makes its communicator, uses it and lets go of it inside `life`, which says how it was.
  static std::vector<test::Process> start_lives(
      const std::function<std::string(const fault::Makers&, std::size_t)>& life) {
    const auto makers = GetParam().ranks(3, {});
    std::vector<test::Process> ranks;
    for (std::size_t rank = 0; rank < makers.size(); ++rank) {
      ranks.emplace_back([&, rank]() -> std::string {
        const std::size_t descriptors = entries_of("/proc/self/fd");
        const std::size_t threads = entries_of("/proc/self/task");
        const std::string how = life(makers, rank);
        if (entries_of("/proc/self/fd") != descriptors) return how + ", descriptors left";
        // One that has been joined stands there for a moment.
        if (!test::eventually([&] { return entries_of("/proc/self/task") == threads; })) return how + ", threads left";
        return how + (our_mappings() == 0 ? ", nothing left" : ", mappings left");
      });
    }
    return ranks;
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Leftovers, testing::ValuesIn(fault::layouts()), fault::name_of);

TEST_P(Leftovers, AreNoneAfterACleanEnd) {
  auto ranks = start_lives([](const fault::Makers& makers, std::size_t rank) -> std::string {
    const auto comm = makers[rank]();
    use_everything(comm);
    // Or nobody would know what to look for afterwards.
    const bool shares = comm.split_local()->size() > 1;
    return !shares || our_mappings() > 0 ? "fine" : "shares memory of another name";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine, nothing left");
}

TEST_P(Leftovers, AreNoneAfterAFailure) {
  test::Shared<test::Meeting> ready;
  auto ranks = start_lives([&](const fault::Makers& makers, std::size_t rank) {
    return outcome_of([&] {
             const auto comm = makers[rank]();
             auto region = comm.create_shared_region<double>(1000);
             const auto part = comm.duplicate();
             ready->wait_for(3);
             if (rank == 1) raise(SIGKILL);
             comm.barrier();
           })
        .substr(0, 12);
  });
  for (const std::size_t rank : {0U, 2U}) EXPECT_EQ(ranks[rank].words(), "PeerFailed 1, nothing left") << rank;
}

// In folders that nobody else writes to.
TEST_P(Leftovers, AreNotInTheFileSystemEvenWhileRunning) {
  constexpr std::array folders{"/dev/shm", "/tmp", "/var/tmp"};
  test::Process alone([&]() -> std::string {
    test::with_own_mounts();
    for (const char* folder : folders) test::require(mount("none", folder, "tmpfs", 0, nullptr) == 0, folder);
    auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
      use_everything(comm);
      const bool empty = std::ranges::all_of(folders, [](const char* folder) { return entries_of(folder) == 2; });
      comm.barrier();
      return empty ? "nothing" : "something";
    });
    return ranks[0].words() + ", " + ranks[1].words();
  });
  EXPECT_EQ(alone.words(), "nothing, nothing");
}

}  // namespace
