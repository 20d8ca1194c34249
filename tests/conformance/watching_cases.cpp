#include "conformance/watching_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace conformance {

using namespace cobre::comm;

namespace {

using Names = std::vector<std::string>;

/// The names of what was reported since the last time.
class Notes {
 public:
  void operator()(const ObservedOperation& operation) {
    EXPECT_GE(operation.time.count(), 0) << operation.name;
    names_.emplace_back(operation.name);
  }
  Names news() { return std::exchange(names_, {}); }
  /// Without the duplicates on which what goes on by itself runs: some backends need none.
  Names news_of_operations() {
    std::erase(names_, "duplicate");
    return news();
  }

 private:
  Names names_;
};

}  // namespace

void watching_cases(Suite<CommBackend>& suite) {
  auto group = suite.group("Watching");

  group.add("ReportsRegionsAndTheirFences", [](const CommBackend& comm) {
    Notes notes;
    const Observed watched(comm, notes);
    auto region = watched.create_shared_region<int>(30);
    std::ranges::fill(region.as_partition_span(), 4);
    region.fence();
    EXPECT_EQ(std::ranges::count(region.as_span(), 4), 30);
    EXPECT_EQ(region.as_mut_span().size(), comm.is_leader() ? region.size() : 0U);
    region.fence();
    EXPECT_EQ(notes.news(), (Names{"create_shared_region", "fence", "fence"}));
  });

  group.add("ReportsThatPartsAreMadeAndWhatTheyDo", [](const CommBackend& comm) {
    Notes notes;
    const Observed watched(comm, notes);
    const int color = comm.rank() == 0 ? 0 : 1;
    const auto part = watched.split(color);
    ASSERT_TRUE(part.has_value());
    EXPECT_EQ(part->allreduce(std::size_t{1}, ReduceOp::Sum), color == 0 ? 1 : comm.size() - 1);
    EXPECT_EQ(watched.duplicate().broadcast(comm.rank(), 0), 0U);
    watched.node().barrier();
    EXPECT_FALSE(watched.split(undefined_color).has_value());
    watched.split_local()->barrier();
    EXPECT_EQ(notes.news(), (Names{"split", "allreduce", "duplicate", "broadcast", "node", "barrier", "split",
                                   "split_local", "barrier"}));
  });

  group.add("ReportsWhatNobodyWaitsForAndEachRoundOfAPlan", [](const CommBackend& comm) {
    Notes notes;
    const Observed watched(comm, notes);
    const int size = static_cast<int>(comm.size());
    std::vector<int> table(3, static_cast<int>(comm.rank()));
    watched.ibroadcast(table, comm.size() - 1).wait();
    EXPECT_EQ(table, std::vector<int>(3, size - 1));
    EXPECT_EQ(notes.news_of_operations(), Names{"broadcast"});
    EXPECT_EQ(watched.iallreduce(1, ReduceOp::Sum).get(), size);
    EXPECT_EQ(notes.news_of_operations(), Names{"allreduce"});
    const std::vector<int> ones(3, 1);
    std::vector<int> sums(3);
    auto plan = watched.allreduce_init(ones, sums, ReduceOp::Sum);
    EXPECT_EQ(notes.news(), Names{"duplicate"}) << "which the plan runs on";
    for (int round = 0; round < 2; ++round) {
      plan.start();
      plan.wait();
      EXPECT_EQ(sums, std::vector<int>(3, size));
      EXPECT_EQ(notes.news(), Names{"allreduce"});
    }
  });

  group.add("LetsMessagesPass", [](const CommBackend& comm) {
    Notes notes;
    const Observed watched(comm, notes);
    const std::size_t next = (comm.rank() + 1) % comm.size();
    const std::size_t previous = (comm.rank() + comm.size() - 1) % comm.size();
    const std::vector<std::size_t> mine(4, comm.rank());
    std::vector<std::size_t> came(4);
    watched.sendrecv(mine, next, came, previous);
    EXPECT_EQ(came, std::vector<std::size_t>(4, previous));
    auto going = watched.channel(next, 3).isend(mine);
    watched.channel(previous, 3).recv(came);
    going.wait();
    EXPECT_EQ(came, std::vector<std::size_t>(4, previous));
    EXPECT_EQ(notes.news(), Names());
  });
}

}  // namespace conformance
