// What stays behind: nothing. No descriptor, no mapping, no file, no process; and a forked child is no rank.

#include <gtest/gtest.h>

#include <dirent.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "support/mounts.hpp"
#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::ShmBackend;
using test::Clock;
using test::eventually;
using test::outcome_of;
using test::shm_configs;
using test::start_ranks;
using namespace std::chrono_literals;

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

void use_everything(const ShmBackend& comm) {
  auto region = comm.create_shared_region<double>(1000);
  const auto node = comm.split_local();
  node->barrier();
  region.fence();
  std::vector<double> data(100'000, 1.0);
  comm.allreduce_inplace(data, ReduceOp::Sum);
  comm.broadcast(data, 0);
}

TEST(ShmLeftovers, NoDescriptorAndNoMappingAfterACleanEnd) {
  auto ranks = start_ranks(shm_configs(1), [](const ShmBackend&) { return std::string("warm"); });
  EXPECT_EQ(ranks[0].words(), "warm");
  const auto configs = shm_configs(3);
  std::vector<test::Process> processes;
  for (const auto& config : configs) {
    processes.emplace_back([&]() -> std::string {
      const std::size_t descriptors = entries_of("/proc/self/fd");
      use_everything(ShmBackend::attach(config));
      if (entries_of("/proc/self/fd") != descriptors) return "descriptors left";
      return our_mappings() == 0 ? "nothing left" : "mappings left";
    });
  }
  for (auto& process : processes) EXPECT_EQ(process.words(), "nothing left");
}

TEST(ShmLeftovers, NoDescriptorAndNoMappingAfterAFailure) {
  const auto configs = shm_configs(3);
  std::vector<test::Process> processes;
  for (const auto& config : configs) {
    processes.emplace_back([&]() -> std::string {
      const std::size_t descriptors = entries_of("/proc/self/fd");
      const std::string outcome = outcome_of([&] {
        const auto comm = ShmBackend::attach(config);
        auto region = comm.create_shared_region<double>(1000);
        if (comm.rank() == 1) raise(SIGKILL);
        region.fence();
      });
      if (outcome != "PeerFailed 1 signal 9") return outcome;
      if (entries_of("/proc/self/fd") != descriptors) return "descriptors left";
      return our_mappings() == 0 ? "nothing left" : "mappings left";
    });
  }
  EXPECT_EQ(processes[0].words(), "nothing left");
  EXPECT_EQ(processes[2].words(), "nothing left");
}

// In folders that nobody else writes to.
TEST(ShmLeftovers, NothingInTheFileSystemEverNotEvenWhileRunning) {
  constexpr std::array folders{"/dev/shm", "/tmp", "/var/tmp"};
  test::Process alone([&]() -> std::string {
    test::with_own_mounts();
    for (const char* folder : folders) test::require(mount("none", folder, "tmpfs", 0, nullptr) == 0, folder);
    auto ranks = start_ranks(shm_configs(2), [&](const ShmBackend& comm) -> std::string {
      use_everything(comm);
      const bool empty = std::ranges::all_of(folders, [](const char* folder) { return entries_of(folder) == 2; });
      comm.barrier();
      return empty ? "nothing" : "something";
    });
    return ranks[0].words() + ", " + ranks[1].words();
  });
  EXPECT_EQ(alone.words(), "nothing, nothing");
}

TEST(ShmAbort, EndsEveryRankWhereverItIs) {
  test::Shared<std::atomic<int>> ready;
  auto ranks = start_ranks(shm_configs(4), [&](const ShmBackend& comm) -> std::string {
    if (comm.rank() == 1) signal(SIGTERM, SIG_IGN);  // deaf to the polite form
    comm.barrier();
    ++*ready;
    if (comm.rank() == 0) {
      eventually([&] { return *ready == 4; });
      comm.abort(42);
    }
    if (comm.rank() == 1) std::this_thread::sleep_for(30s);  // busy elsewhere
    if (comm.rank() == 2) raise(SIGSTOP);                    // not even running
    comm.barrier();
    return "still here";
  });
  const auto begin = Clock::now();
  for (auto& rank : ranks) EXPECT_TRUE(eventually([&] { return rank.ended(); }));
  EXPECT_LT(Clock::now() - begin, 5s);
  const int status = ranks[0].await_end();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  for (const std::size_t rank : {1U, 2U}) EXPECT_TRUE(WIFSIGNALED(ranks[rank].await_end()));
}

TEST(ShmFork, AChildIsNoRankAndItsEndIsNotTheRanks) {
  auto ranks = start_ranks(shm_configs(2), [](const ShmBackend& comm) -> std::string {
    auto region = comm.create_shared_region<int>(4);
    std::string child_says;
    {
      test::Process child([&]() -> std::string {
        std::string words = outcome_of([&] { comm.barrier(); });
        words += " " + outcome_of([&] { region.fence(); });
        auto stolen = std::move(const_cast<ShmBackend&>(comm));  // ends the communicator here, in the child
        return words;
      });
      child_says = child.words();
    }
    const int sum = comm.allreduce(1, ReduceOp::Sum);
    return child_says + " " + std::to_string(sum);
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "InvalidCommunicator InvalidCommunicator 2");
}

TEST(ShmDestructor, NeverWaitsForTheOthers) {
  test::Shared<std::atomic<bool>> over;
  auto ranks = start_ranks(shm_configs(2), [&](const ShmBackend& comm) -> std::string {
    if (comm.rank() == 1) {
      eventually([&] { return over->load(); });
      return "late";
    }
    std::vector<double> data(10, 1.0);
    comm.broadcast(data, 0);
    return "gone";
  });
  EXPECT_EQ(ranks[0].words(), "gone");
  *over = true;
  EXPECT_EQ(ranks[1].words(), "late");
}

}  // namespace
