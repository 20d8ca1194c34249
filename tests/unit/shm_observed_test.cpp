// Watching several ranks, and what goes on beside them.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/shm_ranks.hpp"
#include "unit/environment.hpp"

namespace {

using namespace cobre::comm;
using test::run_threads;
using test::shm_configs;
using Names = std::vector<std::string>;

TEST(ObservedRanks, ReportWhatEachOfThemDoes) {
  run_threads(shm_configs(3), [](const ShmBackend& comm) {
    Names names;
    const auto note = [&names](const ObservedOperation& operation) { names.emplace_back(operation.name); };
    const auto news = [&names] { return std::exchange(names, {}); };
    const Observed watched(comm, note);
    auto region = watched.create_shared_region<int>(30);
    std::ranges::fill(region.as_partition_span(), 4);
    region.fence();
    EXPECT_EQ(std::ranges::count(region.as_span(), 4), 30);
    EXPECT_EQ(region.as_mut_span().size(), watched.is_leader() ? 30U : 0U);
    EXPECT_EQ(news(), (Names{"create_shared_region", "fence"}));

    const auto part = watched.split(comm.rank() == 0 ? 0 : 1);
    EXPECT_EQ(part->allreduce(1, ReduceOp::Sum), comm.rank() == 0 ? 1 : 2);
    watched.node().barrier();
    watched.split_local()->barrier();
    EXPECT_EQ(news(), (Names{"split", "allreduce", "node", "barrier", "split_local", "barrier"}));

    EXPECT_EQ(watched.iallreduce(1, ReduceOp::Sum).get(), 3);
    EXPECT_EQ(news(), (Names{"duplicate", "allreduce"})) << "the lane is made as a part of it";
    std::vector<int> sums(2);
    const std::vector<int> ones(2, 1);
    auto plan = watched.allreduce_init(ones, sums, ReduceOp::Sum);
    for (int round = 0; round < 2; ++round) {
      plan.start();
      plan.wait();
    }
    EXPECT_EQ(sums, std::vector<int>(2, 3));
    EXPECT_EQ(news(), (Names{"duplicate", "allreduce", "allreduce"}));
  });
}

// Beside the calls of the rank, which are reported at the same time.
TEST(ObservedRanks, ReportOneOperationAtATimeAlsoFromThreadsOfTheLibrary) {
  test::ScopedEnvironment environment;
  environment.set("COBRE_COMM_PROGRESS", "thread");
  run_threads(shm_configs(2), [](const ShmBackend& comm) {
    OperationStatistics statistics;
    {
      const Observed watched(comm, statistics);
      std::vector<Request> requests;
      std::vector<std::vector<int>> data(12, std::vector<int>(10, 1));
      for (auto& one : data) {
        requests.push_back(watched.iallreduce_inplace(one, ReduceOp::Sum));
        watched.barrier();
      }
      for (auto& request : requests) request.wait();
      for (const auto& one : data) EXPECT_EQ(one, std::vector<int>(10, 2));
    }
    constexpr std::uint64_t operations = 12 + 12;
    constexpr std::uint64_t lanes = 4;
    EXPECT_EQ(statistics.total().calls, operations + lanes);
    EXPECT_EQ(statistics.total().bytes, 12 * 10 * sizeof(int));
  });
}

TEST(ObservedRanks, RefuseWhatWasMovedFromAsTheirCommunicatorDoes) {
  run_threads(shm_configs(2), [](const ShmBackend& comm) {
    OperationStatistics statistics;
    Observed first = Observed(comm, statistics).duplicate();
    const Observed second = std::move(first);
    // NOLINTBEGIN(bugprone-use-after-move): what is tested
    EXPECT_THROW(first.barrier(), InvalidCommunicator);
    EXPECT_THROW((void)first.create_shared_region<int>(1), InvalidCommunicator);
    EXPECT_THROW((void)first.split(0), InvalidCommunicator);
    EXPECT_THROW((void)first.ibarrier(), InvalidCommunicator);
    // NOLINTEND(bugprone-use-after-move)
    second.barrier();
    EXPECT_EQ(statistics.total().calls, 2U) << "what was refused is not counted";
  });
}

}  // namespace
