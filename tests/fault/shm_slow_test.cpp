// Slow is not dead: who is stopped is waited for, warned about, and given up on only when the user said so.

#include <cobre/comm/warnings.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "comm/backends/shm/claim.hpp"
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

struct Board {
  std::atomic<int> ready{0};
  std::atomic<bool> stopped{false};
  std::atomic<bool> returned{false};
};

TEST(ShmStoppedRank, IsWaitedForAndNotTakenForDead) {
  test::Shared<Board> board;
  auto ranks = start_ranks(shm_configs(3), [&](const ShmBackend& comm) -> std::string {
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

TEST(ShmStoppedRank, IsNamedByTheTimeoutOnEveryRankAndLearnsItLater) {
  test::Shared<Board> board;
  auto ranks = start_ranks(shm_configs(3, [](auto& config) { config.timeout = 300ms; }),
                           [&](const ShmBackend& comm) -> std::string {
                             comm.barrier();
                             ++board->ready;
                             if (comm.rank() == 1) raise(SIGSTOP);
                             const std::string first = outcome_of([&] { comm.barrier(); });
                             return first + "; " + outcome_of([&] { comm.barrier(); });
                           });
  EXPECT_EQ(ranks[0].words(), "TimedOut 1; InvalidCommunicator");
  EXPECT_EQ(ranks[2].words(), "TimedOut 1; InvalidCommunicator");
  ranks[1].signal(SIGCONT);
  EXPECT_EQ(ranks[1].words(), "TimedOut 1; InvalidCommunicator");
}

TEST(ShmStoppedRank, IsWarnedAboutByTheLowestRankThatWaitsAtDoublingIntervals) {
  auto ranks = start_ranks(shm_configs(3, [](auto& config) { config.warn_after = 200ms; }),
                           [&](const ShmBackend& comm) -> std::string {
                             std::string lines;
                             int count = 0;
                             cobre::comm::set_warning_sink([&](std::string_view line) {
                               lines = line;
                               ++count;
                             });
                             comm.barrier();
                             if (comm.rank() == 2) std::this_thread::sleep_for(1100ms);
                             std::vector<double> data(10, 1.0);
                             comm.allreduce_inplace(data, ReduceOp::Sum);
                             cobre::comm::set_warning_sink({});
                             return std::to_string(count) + " " + lines;
                           });
  const std::string words = ranks[0].words();
  // After 0.2, 0.4 and 0.8 seconds; the last one may come after the end of the wait.
  EXPECT_TRUE(words.starts_with("3 ") || words.starts_with("2 ")) << words;
  EXPECT_NE(words.find("allreduce on rank 0 of 3: waiting for"), std::string::npos) << words;
  EXPECT_NE(words.find("rank 0 in allreduce of 10 x double with Sum"), std::string::npos) << words;
  EXPECT_NE(words.find("rank 1 in allreduce of 10 x double with Sum"), std::string::npos) << words;
  EXPECT_NE(words.find("rank 2 outside, after barrier"), std::string::npos) << words;
  EXPECT_EQ(ranks[1].words(), "0 ");
  EXPECT_EQ(ranks[2].words(), "0 ");
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(ShmWaiting, CostsLessThanOnePercentOfACoreAfterASecond) {
  test::Shared<Board> board;
  auto ranks = start_ranks(shm_configs(2), [&](const ShmBackend& comm) -> std::string {
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

// The writer stops between claim and write; the reader's time is up. It must stay, because the writer may write any
// moment: only when that has cleared its claim, or is dead, may the buffer go.
void expect_reader_to_outstay(int then, const std::string& reader_says) {
  test::Shared<Board> board;
  static Board* shared = nullptr;
  shared = &*board;
  auto ranks = start_ranks(shm_configs(2, [](auto& config) { config.timeout = 200ms; }),
                           [&](const ShmBackend& comm) -> std::string {
                             if (!comm.uses_single_copy()) return "no single copy here";
                             std::vector<double> data(1'000'000, comm.rank() == 0 ? 1.0 : 0.0);
                             if (comm.rank() == 0) {
                               cobre::comm::shm::after_taking_claim = [] {
                                 shared->stopped = true;
                                 raise(SIGSTOP);
                               };
                             }
                             const std::string outcome = outcome_of([&] { comm.broadcast(data, 0); });
                             if (comm.rank() == 1) shared->returned = true;
                             return outcome;
                           });
  ASSERT_TRUE(eventually([&] { return board->stopped.load(); }));
  std::this_thread::sleep_for(1s);
  EXPECT_FALSE(board->returned) << "the reader left though its memory was about to be written";
  ranks[0].signal(then);
  EXPECT_EQ(ranks[1].words(), reader_says);
}

TEST(ShmClaim, HoldsTheReaderUntilAStoppedWriterGoesOn) {
  expect_reader_to_outstay(SIGCONT, "TimedOut 0");
}

TEST(ShmClaim, HoldsTheReaderUntilAStoppedWriterIsDead) {
  expect_reader_to_outstay(SIGKILL, "TimedOut 0");
}

}  // namespace
