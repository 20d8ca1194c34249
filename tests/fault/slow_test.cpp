// Slow is not dead: who is stopped is waited for, warned about, and given up on only when the user said so.

#include <cobre/comm/warnings.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "fault/on_backends.hpp"

namespace {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;
using test::eventually;
using test::outcome_of;
using namespace std::chrono_literals;

struct Board {
  std::atomic<int> ready{0};
  std::atomic<bool> released{false};
  std::atomic<int> warned{0};
};

class SlowRank : public fault::OnBackends {};
INSTANTIATE_TEST_SUITE_P(On, SlowRank, testing::ValuesIn(fault::layouts()), fault::name_of);

// One of two: on two hosts none of them would have a neighbour, as with tcp alone.
class SlowPartner : public fault::OnBackends {};
INSTANTIATE_TEST_SUITE_P(On, SlowPartner, testing::ValuesIn(fault::backends()), fault::name_of);

TEST_P(SlowRank, ThatIsStoppedIsWaitedForAndNotTakenForDead) {
  test::Shared<Board> board;
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    comm.barrier();
    ++board->ready;
    if (comm.rank() == 1) raise(SIGSTOP);
    const int sum = comm.allreduce(1, ReduceOp::Sum);
    return "sum " + std::to_string(sum);
  });
  eventually([&] { return board->ready == 3; });
  std::this_thread::sleep_for(500ms);
  EXPECT_FALSE(ranks[0].ended());
  ranks[1].signal(SIGCONT);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "sum 3");
}

// Its whole process is stopped, and in a tree one of the others stands behind it.
TEST_P(SlowRank, ThatIsStoppedIsNamedByTheTimeoutOnEveryRankAndLearnsItLater) {
  test::Shared<test::Meeting> met;
  auto ranks = start(4,
                     [&](const CommBackend& comm) -> std::string {
                       comm.barrier();
                       met->wait_for(4);
                       if (comm.rank() == 2) raise(SIGSTOP);
                       const std::string first = outcome_of([&] { comm.barrier(); });
                       return first + "; " + outcome_of([&] { comm.barrier(); });
                     },
                     {.timeout = 1s});
  for (const std::size_t rank : {0U, 1U, 3U}) {
    EXPECT_EQ(ranks[rank].words(), "TimedOut 2; InvalidCommunicator") << "rank " << rank;
  }
  ranks[2].signal(SIGCONT);
  // All the others had come to the first barrier, and over a network their tokens may be read before the verdict; to
  // the second nobody comes any more.
  const std::string words = ranks[2].words();
  EXPECT_TRUE(
      words == "TimedOut 2; InvalidCommunicator" ||
      (GetParam().endings != fault::Endings::Known && (words == "fine; TimedOut 2" || words.starts_with("PeerFailed"))))
      << words;
}

// Whoever it is: the first, one with many behind it in a tree, one that others wait for only through somebody else.
TEST_P(SlowRank, ThatIsStoppedIsNamedByTheTimeoutWhereverItStands) {
  for (const std::size_t victim : {0U, 4U, 6U, 7U}) {
    test::Shared<test::Meeting> met;
    auto ranks = start(8,
                       [&](const CommBackend& comm) -> std::string {
                         comm.barrier();
                         met->wait_for(8);
                         if (comm.rank() == victim) raise(SIGSTOP);
                         return outcome_of([&] { comm.barrier(); });
                       },
                       {.timeout = 1s});
    for (std::size_t rank = 0; rank < 8; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(ranks[rank].words(), "TimedOut " + std::to_string(victim)) << "rank " << rank;
    }
  }
}

TEST_P(SlowRank, IsNamedByTheTimeoutOnEveryRank) {
  test::Shared<test::Meeting> met;
  auto ranks = start(5,
                     [&](const CommBackend& comm) -> std::string {
                       comm.barrier();
                       met->wait_for(5);
                       if (comm.rank() == 3) std::this_thread::sleep_for(2500ms);
                       return outcome_of([&] { (void)comm.allreduce(1, ReduceOp::Sum); });
                     },
                     {.timeout = 1s});
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "TimedOut 3");
}

TEST_P(SlowRank, IsWarnedAboutByTheLowestRankThatWaitsAtDoublingIntervals) {
  test::Shared<test::Meeting> met;
  auto ranks = start(3,
                     [&](const CommBackend& comm) -> std::string {
                       std::string lines;
                       int count = 0;
                       comm.barrier();
                       cobre::comm::set_warning_sink([&](std::string_view line) {
                         lines = line;
                         ++count;
                       });
                       met->wait_for(3);
                       if (comm.rank() == 2) std::this_thread::sleep_for(2200ms);
                       std::vector<double> data(10, 1.0);
                       comm.allreduce_inplace(data, ReduceOp::Sum);
                       cobre::comm::set_warning_sink({});
                       return std::to_string(count) + " " + lines;
                     },
                     {.warn_after = 400ms});
  const std::string words = ranks[0].words();
  // After 0.4, 0.8 and 1.6 seconds; the last one may come after the end of the wait.
  EXPECT_TRUE(words.starts_with("3 ") || words.starts_with("2 ")) << words;
  EXPECT_NE(words.find("allreduce on rank 0 of 3: waiting for"), std::string::npos) << words;
  EXPECT_NE(words.find("rank 0 in allreduce of 10 x double with Sum"), std::string::npos) << words;
  EXPECT_NE(words.find("rank 1 in allreduce of 10 x double with Sum"), std::string::npos) << words;
  EXPECT_NE(words.find("rank 2 outside, after barrier"), std::string::npos) << words;
  EXPECT_EQ(ranks[1].words(), "0 ");
  EXPECT_EQ(ranks[2].words(), "0 ");
}

// The one that would speak for all who wait is stopped itself, in the same operation: the next one does.
TEST_P(SlowRank, IsWarnedAboutAlsoWhereTheFirstRankIsStopped) {
  for (const bool inside : {false, true}) {
    test::Shared<Board> board;
    auto ranks = start(4,
                       [&](const CommBackend& comm) -> std::string {
                         std::string lines;
                         cobre::comm::set_warning_sink([&](std::string_view line) {
                           lines += line;
                           if (comm.rank() != 0) ++board->warned;
                         });
                         comm.barrier();
                         if (comm.rank() == 3 && inside) {
                           eventually([&] { return board->released.load(); });
                         }
                         if (comm.rank() == 0 && !inside) raise(SIGSTOP);
                         ++board->ready;
                         comm.barrier();
                         cobre::comm::set_warning_sink({});
                         return lines;
                       },
                       {.warn_after = 150ms});
    ASSERT_TRUE(eventually([&] { return board->ready == 3; }));
    if (inside) {
      ranks[0].await_rest();
      ranks[0].signal(SIGSTOP);
    }
    EXPECT_TRUE(eventually([&] { return board->warned > 0; })) << (inside ? "inside" : "outside");
    board->released = true;
    ranks[0].signal(SIGCONT);
    std::string lines;
    for (const std::size_t rank : {1U, 2U, 3U}) lines += ranks[rank].words();
    (void)ranks[0].words();
    EXPECT_NE(lines.find("barrier on rank "), std::string::npos) << lines;
    EXPECT_NE(lines.find("rank 0 "), std::string::npos) << lines;
  }
}

// The time is that of the whole operation, however many waits it consists of.
TEST_P(SlowPartner, IsGivenUpAfterTheTimeOfOneOperationThoughItComesALittleFurtherAgainAndAgain) {
  auto ranks = start(2,
                     [&](const CommBackend& comm) -> std::string {
                       std::vector<double> data(1'000'000, 1.0);
                       std::size_t calls = 0;
                       const auto add = [&](double a, double b) {
                         if (comm.rank() == 1 && ++calls % 20'000 == 0) std::this_thread::sleep_for(60ms);
                         return a + b;
                       };
                       comm.barrier();
                       const auto begin = test::Clock::now();
                       const std::string words = outcome_of([&] { comm.allreduce_inplace(data, add); });
                       return words + (test::Clock::now() - begin < 1s ? " in time" : " late");
                     },
                     {.timeout = 300ms});
  const std::string words = ranks[0].words();
  EXPECT_TRUE(words.starts_with("TimedOut") && words.ends_with(" in time")) << words;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST_P(SlowPartner, CostsThoseWhoWaitLessThanOnePercentOfACoreAfterASecond) {
  auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() == 1) {
      std::this_thread::sleep_for(3s);
      comm.barrier();
      return "late";
    }
    // The first second may be spent hoping; what is measured is the rest of the same wait.
    double before = 0;
    std::thread observer([&] {
      std::this_thread::sleep_for(1s);
      before = cpu_seconds();
    });
    comm.barrier();
    const double used = cpu_seconds() - before;
    observer.join();
    return used < 0.02 ? "idle" : "used " + std::to_string(used) + " s of 2 s";
  });
  EXPECT_EQ(ranks[0].words(), "idle");
  EXPECT_EQ(ranks[1].words(), "late");
}

}  // namespace
