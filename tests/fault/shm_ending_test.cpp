// Ends that are asked for: of all processes, of a forked child that is no rank, of one communicator before the others.

#include <gtest/gtest.h>

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
