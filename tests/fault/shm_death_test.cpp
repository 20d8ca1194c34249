// Ranks that die, in every way and at every moment: the others learn who, and nothing stays behind.

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "support/memory_group.hpp"
#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::ShmBackend;
using test::eventually;
using test::outcome_of;
using test::shm_configs;
using test::start_ranks;
using namespace std::chrono_literals;

struct Board {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
};

// The victim comes so far and no further; the others wait for it in a barrier, first awake and then asleep.
void expect_everyone_names_the_victim(std::size_t size, std::size_t victim, const std::function<void()>& end,
                                      std::chrono::milliseconds before, const std::string& expected) {
  test::Shared<Board> board;
  auto ranks = start_ranks(shm_configs(size), [&](const ShmBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() == victim) {
      eventually([&] { return board->ready == static_cast<int>(size) - 1; });
      std::this_thread::sleep_for(before);
      end();
    }
    ++board->ready;
    const std::string first = outcome_of([&] { comm.barrier(); });
    return first + "; " + outcome_of([&] { comm.barrier(); });
  });
  for (std::size_t rank = 0; rank < size; ++rank) {
    if (rank == victim) continue;
    EXPECT_EQ(ranks[rank].words(), expected + "; InvalidCommunicator") << "rank " << rank;
  }
}

TEST(ShmDeath, BySignalIsNamedWithTheSignalWhileTheOthersSpin) {
  expect_everyone_names_the_victim(
      3, 1, [] { raise(SIGKILL); }, 0ms, "PeerFailed 1 signal 9");
}

TEST(ShmDeath, BySignalIsNamedWithTheSignalWhileTheOthersSleep) {
  expect_everyone_names_the_victim(
      4, 0, [] { raise(SIGKILL); }, 50ms, "PeerFailed 0 signal 9");
}

TEST(ShmDeath, ByExitIsNamedWithTheExitCode) {
  expect_everyone_names_the_victim(
      2, 1, [] { _exit(3); }, 20ms, "PeerFailed 1 exit 3");
}

// More than its control group allows. Where this user cannot make one, the rank sends itself the signal that the kernel
// would have sent.
TEST(ShmDeath, ForWantOfMemoryIsNamedAsTheKernelsKill) {
  constexpr std::size_t allowed = std::size_t{64} << 20;
  const test::MemoryGroup group(allowed);
  const auto eat = [&] {
    while (group.usable() && group.join()) {
      void* const meal = mmap(nullptr, allowed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (meal == MAP_FAILED) break;
      std::memset(meal, 1, allowed);
    }
    raise(SIGKILL);
  };
  expect_everyone_names_the_victim(3, 1, eat, 0ms, "PeerFailed 1 signal 9");
  if (group.usable()) {
    EXPECT_EQ(group.killed(), 1);
  }
}

// The communicator of one rank ends before those of the others; its process stays until they have noticed.
TEST(ShmDeath, ByExceptionLooksLikeLeaving) {
  test::Shared<Board> board;
  const auto configs = shm_configs(3);
  std::vector<test::Process> ranks;
  for (const auto& config : configs) {
    ranks.emplace_back([&]() -> std::string {
      std::string words;
      try {
        const auto comm = ShmBackend::attach(config);
        if (config.rank == 2) {
          eventually([&] { return board->ready == 2; });
          throw std::runtime_error("no more");
        }
        ++board->ready;
        words = outcome_of([&] { comm.barrier(); });
      } catch (const std::runtime_error& error) {
        words = error.what();
      }
      if (config.rank == 2) eventually([&] { return board->ready == 4; });
      ++board->ready;
      return words;
    });
  }
  EXPECT_EQ(ranks[0].words(), "PeerFailed 2");
  EXPECT_EQ(ranks[1].words(), "PeerFailed 2");
  EXPECT_EQ(ranks[2].words(), "no more");
}

TEST(ShmDeath, OfARankThatLeftCleanlyMattersOnlyForOperationsThatItDidNotJoin) {
  test::Shared<Board> board;
  const auto configs = shm_configs(3);
  std::vector<test::Process> ranks;
  for (const auto& config : configs) {
    ranks.emplace_back([&]() -> std::string {
      std::vector<double> data(100, static_cast<double>(config.rank));
      const auto join_in = [&](const ShmBackend& comm) {
        for (int i = 0; i < 10; ++i) comm.broadcast(data, 1);
        comm.barrier();
      };
      if (config.rank == 1) {
        join_in(ShmBackend::attach(config));
        board->go = true;
        eventually([&] { return board->ready == 2; });
        return "left";
      }
      const auto comm = ShmBackend::attach(config);
      const std::string joined = outcome_of([&] { join_in(comm); });
      if (data[50] != 1.0) return "wrong data";
      eventually([&] { return board->go.load(); });
      const std::string alone = outcome_of([&] { comm.barrier(); });
      ++board->ready;
      return joined + "; " + alone;
    });
  }
  EXPECT_EQ(ranks[0].words(), "fine; PeerFailed 1");
  EXPECT_EQ(ranks[2].words(), "fine; PeerFailed 1");
  EXPECT_EQ(ranks[1].words(), "left");
}

TEST(ShmDeath, OfABroadcastReaderIsNoticedByARootThatOnlySends) {
  auto ranks = start_ranks(shm_configs(3), [](const ShmBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() == 2) raise(SIGKILL);
    return outcome_of([&] {
      for (int i = 0; i < 1000; ++i) (void)comm.broadcast(i, 0);
      comm.barrier();
    });
  });
  EXPECT_EQ(ranks[0].words(), "PeerFailed 2 signal 9");
  EXPECT_EQ(ranks[1].words(), "PeerFailed 2 signal 9");
}

TEST(ShmDeath, InTheMiddleOfALargeCopyIsPeerFailedAndNotGarbage) {
  for (const auto single_copy : {cobre::comm::SingleCopy::Auto, cobre::comm::SingleCopy::Off}) {
    for (int round = 0; round < 6; ++round) {
      test::Shared<Board> board;
      auto ranks = start_ranks(shm_configs(3, [&](auto& config) { config.single_copy = single_copy; }),
                               [&](const ShmBackend& comm) -> std::string {
                                 std::vector<double> data(2'000'000, 1.0);
                                 std::vector<double> sum(data.size());
                                 comm.barrier();
                                 ++board->ready;
                                 return outcome_of([&] {
                                   for (;;) {
                                     comm.allreduce(data, sum, ReduceOp::Sum);
                                     if (sum.front() != 3.0 || sum.back() != 3.0) throw std::runtime_error("garbage");
                                     comm.broadcast(data, 1);
                                   }
                                 });
                               });
      eventually([&] { return board->ready == 3; });
      std::this_thread::sleep_for(std::chrono::milliseconds(3 + 7 * round));
      const auto victim = static_cast<std::size_t>(round % 3);
      ranks[victim].signal(SIGKILL);
      for (std::size_t rank = 0; rank < 3; ++rank) {
        if (rank == victim) continue;
        EXPECT_EQ(ranks[rank].words(), "PeerFailed " + std::to_string(victim) + " signal 9");
      }
    }
  }
}

TEST(ShmDeath, AtARandomMomentOfAnyOperationIsPeerFailedOnEveryOtherRank) {
  std::mt19937 draw(7);
  for (int round = 0; round < 25; ++round) {
    test::Shared<Board> board;
    const std::size_t size = 2 + draw() % 4;
    auto ranks = start_ranks(shm_configs(size), [&](const ShmBackend& comm) -> std::string {
      comm.barrier();
      ++board->ready;
      return outcome_of([&] {
        std::mt19937 same_everywhere(11);
        for (;;) {
          const std::size_t count = same_everywhere() % 4 == 0 ? same_everywhere() % 40'000 : same_everywhere() % 100;
          const std::size_t root = same_everywhere() % comm.size();
          std::vector<double> data(count, 1.0);
          std::vector<double> other(count);
          switch (same_everywhere() % 8) {
            case 0: comm.barrier(); break;
            case 1: comm.broadcast(data, root); break;
            case 2: comm.allreduce_inplace(data, ReduceOp::Max); break;
            case 3: (void)comm.gatherv(data, root); break;
            case 4: {
              std::vector<std::size_t> counts(comm.size(), 0);
              counts[root] = count;
              (void)comm.alltoallv(data, counts);
              break;
            }
            case 5: comm.reduce(data, other, ReduceOp::Sum, root); break;
            case 6: comm.scan(data, other, ReduceOp::Sum); break;
            default: (void)comm.allgatherv(data); break;
          }
        }
      });
    });
    eventually([&] { return board->ready == static_cast<int>(size); });
    std::this_thread::sleep_for(std::chrono::microseconds(draw() % 30'000));
    const std::size_t victim = draw() % size;
    ranks[victim].signal(SIGKILL);
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(ranks[rank].words(), "PeerFailed " + std::to_string(victim) + " signal 9") << "round " << round;
    }
  }
}

TEST(ShmDeath, DuringStartUpIsPeerFailedOnThoseThatHaveCome) {
  const auto configs = shm_configs(4);
  // Rank 3 never comes; rank 2 comes and is killed while all wait for rank 3.
  std::vector<test::Process> ranks;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&configs, rank] { return outcome_of([&] { (void)ShmBackend::attach(configs[rank]); }); });
  }
  std::this_thread::sleep_for(200ms);
  ranks[2].signal(SIGKILL);
  EXPECT_EQ(ranks[0].words(), "PeerFailed 2");
  EXPECT_EQ(ranks[1].words(), "PeerFailed 2");
}

TEST(ShmDeath, OfRankZeroDuringStartUpIsPeerFailedToo) {
  const auto configs = shm_configs(3);
  std::vector<test::Process> ranks;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&configs, rank] { return outcome_of([&] { (void)ShmBackend::attach(configs[rank]); }); });
  }
  std::this_thread::sleep_for(200ms);
  ranks[0].signal(SIGKILL);
  EXPECT_EQ(ranks[1].words(), "PeerFailed 0");
}

// Parts watch the processes of their own ranks, and those alone.
TEST(ShmDeath, BreaksThePartsOfTheDeadAndNoOthers) {
  test::Shared<Board> board;
  constexpr std::size_t size = 4;
  auto ranks = start_ranks(shm_configs(size), [&](const ShmBackend& comm) -> std::string {
    const auto part = comm.split(comm.rank() < 2 ? 0 : 1, -static_cast<int>(comm.rank()));
    part->barrier();
    if (comm.rank() == 1) {  // rank 0 of its part
      eventually([&] { return board->ready == static_cast<int>(size) - 1; });
      raise(SIGKILL);
    }
    ++board->ready;
    const std::string first = outcome_of([&] { part->barrier(); });
    const std::string second = outcome_of([&] { part->barrier(); });
    return first + "; " + second + "; " + outcome_of([&] { comm.barrier(); });
  });
  EXPECT_EQ(ranks[0].words(), "PeerFailed 0 signal 9; InvalidCommunicator; PeerFailed 1 signal 9");
  EXPECT_EQ(ranks[2].words(), "fine; fine; PeerFailed 1 signal 9");
  EXPECT_EQ(ranks[3].words(), "fine; fine; PeerFailed 1 signal 9");
}

TEST(ShmDeath, DuringASplitIsPeerFailedOnEveryOtherRank) {
  auto ranks = start_ranks(shm_configs(3), [&](const ShmBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() == 2) raise(SIGKILL);
    return outcome_of([&] { (void)comm.split(0); });
  });
  EXPECT_EQ(ranks[0].words(), "PeerFailed 2 signal 9");
  EXPECT_EQ(ranks[1].words(), "PeerFailed 2 signal 9");
}

TEST(ShmDeath, ByAbortOfAPartEndsTheRanksOutsideOfItToo) {
  auto ranks = start_ranks(shm_configs(3), [&](const ShmBackend& comm) -> std::string {
    const auto part = comm.split(comm.rank() == 0 ? 0 : 1);
    comm.barrier();
    if (comm.rank() == 0) part->abort(7);
    eventually([] { return false; });
    return "still here";
  });
  for (auto& rank : ranks) EXPECT_NE(rank.words(), "still here");
  EXPECT_EQ(WEXITSTATUS(ranks[0].await_end()), 7);
}

TEST(ShmDeath, IsThrownByTheWaitOfARequestAndOfAPlan) {
  auto ranks = start_ranks(shm_configs(3), [&](const ShmBackend& comm) -> std::string {
    std::vector<double> data(1000, 1.0);
    std::vector<double> sums(1000);
    auto plan = comm.allreduce_init(data, sums, ReduceOp::Sum);
    for (int lane = 0; lane < 4; ++lane) comm.ibarrier().wait();  // each is made when it is first needed, by all
    if (comm.rank() == 2) raise(SIGKILL);
    auto request = comm.iallreduce_inplace(data, ReduceOp::Sum);
    const std::string first = outcome_of([&] { request.wait(); });
    plan.start();
    const std::string second = outcome_of([&] { plan.wait(); });
    return first + "; " + second + "; " + outcome_of([&] { plan.start(), plan.wait(); });
  });
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(ranks[rank].words(), "PeerFailed 2 signal 9; PeerFailed 2 signal 9; InvalidCommunicator");
  }
}

}  // namespace
