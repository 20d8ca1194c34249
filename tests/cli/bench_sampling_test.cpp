// How the programs of `cobre-comm bench` measure, with ranks that say what they were asked for.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "peers/collectives.hpp"
#include "peers/example.hpp"
#include "peers/sddp.hpp"

namespace {

constexpr bench::Pace quick{10, 30};
constexpr std::size_t sets_of_small_ones = 8;
constexpr std::size_t never = ~std::size_t{0};
const std::vector<std::string> operations{
    "broadcast", "allreduce", "allgatherv", "reduce",   "scan",    "exscan",   "reduce_scatter_block",
    "gather",    "scatter",   "allgather",  "alltoall", "gatherv", "scatterv", "alltoallv",
    "message"};

/// One of two ranks, whose other one always did what it should; from a certain call on something goes wrong.
struct Ranks {
  enum class Fault { WritesWrongData, WritesNothing };

  int rank = 0;
  int size = 2;
  std::size_t good_calls = never;
  Fault fault = Fault::WritesWrongData;
  std::vector<const double*> written;

  void barrier() const {}
  void slowest(std::span<double>) const {}
  void broadcast(std::span<double> buffer) { write(buffer, {1, 1}); }
  void allreduce(std::span<const double>, std::span<double> recv) { write(recv, {3, 3}); }
  void allgatherv(std::span<const double>, std::span<double> recv, const bench::Parts&) { write(recv, {1, 2}); }
  void reduce(std::span<const double>, std::span<double> recv) { write(recv, {3, 3}); }
  void scan(std::span<const double>, std::span<double> recv) { write(recv, {1, 1}); }
  void exscan(std::span<const double>, std::span<double> recv) { write(recv, {1, 1}); }
  void reduce_scatter_block(std::span<const double>, std::span<double> recv) { write(recv, {3}); }
  void gather(std::span<const double>, std::span<double> recv) { write(recv, {1, 2}); }
  void allgather(std::span<const double>, std::span<double> recv) { write(recv, {1, 2}); }
  void scatter(std::span<const double>, std::span<double> recv) { write(recv, {1}); }
  void alltoall(std::span<const double>, std::span<double> recv) { write(recv, {1, 2}); }
  void gatherv(std::span<const double>, std::span<double> recv, const bench::Parts&) { write(recv, {1, 2}); }
  void scatterv(std::span<const double>, std::span<double> recv, const bench::Parts&) { write(recv, {1}); }
  void alltoallv(std::span<const double>, std::span<double> recv, const bench::Parts&) { write(recv, {1, 2}); }
  void send(std::span<const double>, int) const {}
  void recv(std::span<double> data, int) { write(data, {2, 2}); }

 private:
  void write(std::span<double> to, const std::vector<double>& right) {
    const bool good = written.size() < good_calls;
    written.push_back(to.data());
    if (!good && fault == Fault::WritesNothing) return;
    ASSERT_EQ(to.size(), right.size());
    std::ranges::copy(right, to.begin());
    if (!good) to.back() += 1;
  }
};

/// Rank 0, but in the operation that gives it nothing.
Ranks ranks_for(const std::string& operation) {
  Ranks ranks;
  ranks.rank = operation == "exscan" ? 1 : 0;
  return ranks;
}

std::vector<double> measure(Ranks& ranks, const std::string& operation) {
  bench::Vectors memory;
  return bench::Point(ranks, memory, operation, 2 * sizeof(double)).run(quick);
}

void measure_with_fault(const std::string& operation, std::size_t good_calls,
                        Ranks::Fault fault = Ranks::Fault::WritesWrongData) {
  Ranks ranks = ranks_for(operation);
  ranks.good_calls = good_calls;
  ranks.fault = fault;
  (void)measure(ranks, operation);
}

std::string wrong_data_in(const std::string& operation) {
  return "rank " + std::to_string(ranks_for(operation).rank) + ": wrong data in " + operation + " of 16 bytes";
}

/// Notes each call by its set, and each barrier; whatever a batch took, the slowest rank says what is in `said`.
struct Slow {
  static constexpr std::size_t a_barrier = 100;
  std::vector<std::size_t> log;
  double one_call = 10;
  double said = 1000;

  void barrier() { log.push_back(a_barrier); }
  void slowest(std::span<double> times) const {
    if (times.size() == 1) times[0] = one_call;  // how ranks agree on the number of calls
    if (times.size() > 1) {
      for (std::size_t i = 0; i < times.size(); ++i) times[i] = said + static_cast<double>(i);
    }
  }
};

TEST(Sampling, EachBatchFollowsABarrierAndTakesTheBuffersInTurn) {
  Slow ranks;
  (void)bench::sample(ranks, 3, {100, 300}, [&](std::size_t set) { ranks.log.push_back(set); });
  std::vector<std::size_t> expected;
  std::size_t turn = 0;
  for (const std::size_t calls :
       {1U, 20U, 20U, 20U, 10U, 10U, 10U}) {  // to learn how long one takes, and what is measured
    expected.push_back(Slow::a_barrier);
    for (std::size_t i = 0; i < calls; ++i) expected.push_back(turn++ % 3);
  }
  EXPECT_EQ(ranks.log, expected);
}

TEST(Sampling, CallsThatFillABatchAloneTakeTheBuffersInTurnToo) {
  Slow ranks;
  ranks.one_call = 1e6;
  std::vector<std::size_t> sets;
  (void)bench::sample(ranks, 3, {100, 300}, [&](std::size_t set) { sets.push_back(set); });
  EXPECT_EQ(sets, (std::vector<std::size_t>{0, 1, 2, 0}));
}

TEST(Sampling, OfEachBatchTheTimeOfTheSlowestRankCounts) {
  Slow ranks;
  EXPECT_EQ(bench::sample(ranks, 1, {100, 300}, [](std::size_t) {}), (std::vector<double>{1000, 1001, 1002}));
}

TEST(Sampling, ARankThatIsFastMakesNoMoreCallsThanTheSlowestAgreedTo) {
  Slow ranks;
  ranks.one_call = 1e6;
  std::size_t calls = 0;
  EXPECT_EQ(bench::sample(ranks, 1, {100, 300}, [&](std::size_t) { ++calls; }).size(), 3U);
  EXPECT_EQ(calls, 1U + 3U) << "one to learn how long it takes, and one a batch";
}

TEST(Pinning, ARankHasACoreOfItsOwnWhereThereAreEnough) {
  std::thread([] {  // whose cores are its own business
    const auto cpus = bench::allowed_cpus();
    ASSERT_FALSE(cpus.empty());
    const int ranks = static_cast<int>(cpus.size());
    bench::pin(0, ranks + 1);
    EXPECT_EQ(bench::allowed_cpus(), cpus) << "more ranks than cores are left to the scheduler";
    bench::pin(ranks - 1, ranks);
    EXPECT_EQ(bench::allowed_cpus(), std::vector{cpus.back()});
  })
      .join();
}

TEST(Point, EveryOperationRotatesItsBuffers) {
  for (const std::string& operation : operations) {
    SCOPED_TRACE(operation);
    Ranks ranks = ranks_for(operation);
    EXPECT_GE(measure(ranks, operation).size(), 3U);
    ASSERT_GT(ranks.written.size(), 2 * sets_of_small_ones);
    auto different = ranks.written;
    std::ranges::sort(different);
    const auto repeated = std::ranges::unique(different);
    EXPECT_EQ(different.size() - repeated.size(), sets_of_small_ones);
  }
}

TEST(Point, DataThatIsWrongBeforeTheMeasurementEndsTheProgram) {
  for (const std::string& operation : operations) {
    EXPECT_EXIT(measure_with_fault(operation, 0), testing::ExitedWithCode(1), wrong_data_in(operation));
  }
}

TEST(Point, DataThatIsWrongAfterTheMeasurementEndsTheProgram) {
  for (const std::string& operation : operations) {
    EXPECT_EXIT(measure_with_fault(operation, sets_of_small_ones), testing::ExitedWithCode(1),
                wrong_data_in(operation));
  }
}

TEST(Point, DataOfAnEarlierCallIsNotTakenForRight) {
  EXPECT_EXIT(measure_with_fault("allreduce", sets_of_small_ones, Ranks::Fault::WritesNothing),
              testing::ExitedWithCode(1), wrong_data_in("allreduce"));
}

TEST(Pattern, AnIterationThatExchangesNothingEndsTheProgram) {
  Ranks ranks;
  EXPECT_EXIT(bench::compete_in_pattern(ranks, {quick, "sddp", {1}}, [](solver::Workspace&) {}),
              testing::ExitedWithCode(1), "rank 0: wrong data in sddp");
  bench::Example example(0, 2);
  EXPECT_EXIT(bench::compete_in_example(
                  ranks, {quick, "sddp-example", {1}}, example, [] {},
                  [](const bench::Exchange& one) { return one.is_right(one.all); }),
              testing::ExitedWithCode(1), "rank 0: wrong data in sddp-example");
}

}  // namespace
