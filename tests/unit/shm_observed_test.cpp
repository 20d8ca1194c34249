// Watching several ranks, and what goes on beside them.

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/environment.hpp"
#include "support/shm_ranks.hpp"

namespace {

using namespace cobre::comm;
using test::run_threads;
using test::shm_configs;

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
