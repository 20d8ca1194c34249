// Ranks that die, leave, or give up: the others learn who, within a tenth of a second where they wait.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::TcpBackend;
using test::Clock;
using test::eventually;
using test::outcome_of;
using test::start_ranks;
using test::tcp_configs;
using namespace std::chrono_literals;

struct Board {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<Clock::rep> died{0};
  std::atomic<Clock::rep> slowest{0};
};

Clock::rep now() {
  return Clock::now().time_since_epoch().count();
}

// The victim comes so far and no further; the others wait for it in a barrier.
void expect_everyone_names_the_victim(std::size_t size, std::size_t victim, const std::function<void()>& end,
                                      std::chrono::milliseconds before) {
  test::Shared<Board> board;
  auto ranks = start_ranks(tcp_configs(size), [&](const TcpBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() == victim) {
      eventually([&] { return board->ready == static_cast<int>(size) - 1; });
      std::this_thread::sleep_for(before);
      board->died = now();
      end();
    }
    ++board->ready;
    const std::string first = outcome_of([&] { comm.barrier(); });
    const auto took = now() - board->died;
    for (auto slowest = board->slowest.load();
         took > slowest && !board->slowest.compare_exchange_weak(slowest, took);) {
    }
    return first + "; " + outcome_of([&] { comm.barrier(); });
  });
  for (std::size_t rank = 0; rank < size; ++rank) {
    if (rank == victim) continue;
    EXPECT_EQ(ranks[rank].words(), "PeerFailed " + std::to_string(victim) + "; InvalidCommunicator") << "rank " << rank;
  }
  EXPECT_LT(std::chrono::duration<double>(Clock::duration(board->slowest)).count(), 0.1);
}

TEST(TcpDeath, BySignalIsNamedByEveryoneWhoWaits) {
  for (const std::size_t size : {2U, 3U, 5U, 8U}) {
    for (const std::size_t victim : {std::size_t{0}, std::size_t{1}, size - 1}) {
      expect_everyone_names_the_victim(
          size, victim, [] { raise(SIGKILL); }, 5ms);
    }
  }
}

TEST(TcpDeath, ByExitLooksTheSame) {
  expect_everyone_names_the_victim(
      4, 2, [] { _exit(3); }, 20ms);
}

// Who computes learns it at the next call; who waits for one that computes learns it meanwhile.
TEST(TcpDeath, IsToldToThoseWhoWaitEvenWhileTheirNeighbourComputes) {
  test::Shared<Board> board;
  auto ranks = start_ranks(tcp_configs(3), [&](const TcpBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() == 1) {
      eventually([&] { return board->ready == 1; });
      std::this_thread::sleep_for(20ms);
      raise(SIGKILL);
    }
    if (comm.rank() == 0) {
      // The only one between the others in the tree.
      eventually([&] { return board->go.load(); });
      return outcome_of([&] { comm.barrier(); });
    }
    ++board->ready;
    const std::string words = outcome_of([&] { comm.barrier(); });
    board->go = true;
    return words;
  });
  EXPECT_EQ(ranks[2].words(), "PeerFailed 1");
  EXPECT_EQ(ranks[0].words(), "PeerFailed 1");
}

TEST(TcpDeath, InTheMiddleOfALargeMessageIsNamed) {
  for (const std::size_t victim : {0U, 2U}) {
    auto ranks = start_ranks(tcp_configs(3), [&](const TcpBackend& comm) -> std::string {
      std::vector<double> data(4'000'000, 1.0);
      if (comm.rank() == victim) {
        std::thread([] {
          std::this_thread::sleep_for(15ms);
          raise(SIGKILL);
        }).detach();
      }
      return outcome_of([&] {
        for (int i = 0; i < 1000; ++i) comm.allreduce_inplace(data, ReduceOp::Max);
      });
    });
    for (std::size_t rank = 0; rank < 3; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(ranks[rank].words(), "PeerFailed " + std::to_string(victim)) << "rank " << rank;
    }
  }
}

TEST(TcpDeath, OfARankThatLeftCleanlyMattersOnlyForOperationsThatItDidNotJoin) {
  test::Shared<Board> board;
  const auto configs = tcp_configs(4);
  std::vector<test::Process> ranks;
  for (const auto& config : configs) {
    ranks.emplace_back([&]() -> std::string {
      std::vector<double> data(100, static_cast<double>(config.rank));
      const auto join_in = [&](const TcpBackend& comm) {
        for (int i = 0; i < 10; ++i) comm.broadcast(data, 2);
        comm.barrier();
      };
      if (config.rank == 2) {
        join_in(TcpBackend::connect(config));
        board->go = true;
        eventually([&] { return board->ready == 3; });
        return "left";
      }
      const auto comm = TcpBackend::connect(config);
      const std::string joined = outcome_of([&] { join_in(comm); });
      if (data[50] != 2.0) return "wrong data";
      eventually([&] { return board->go.load(); });
      const std::string alone = outcome_of([&] { comm.barrier(); });
      ++board->ready;
      return joined + "; " + alone;
    });
  }
  for (const std::size_t rank : {0U, 1U, 3U}) EXPECT_EQ(ranks[rank].words(), "fine; PeerFailed 2") << "rank " << rank;
  EXPECT_EQ(ranks[2].words(), "left");
}

TEST(TcpDeath, ByExceptionLooksLikeLeaving) {
  test::Shared<Board> board;
  const auto configs = tcp_configs(3);
  std::vector<test::Process> ranks;
  for (const auto& config : configs) {
    ranks.emplace_back([&]() -> std::string {
      std::string words;
      try {
        const auto comm = TcpBackend::connect(config);
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

TEST(TcpDeath, LeavesNoDescriptorAndNoThreadBehind) {
  const auto count = [](const std::string& folder) {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  };
  auto ranks = start_ranks(tcp_configs(2), [&](const TcpBackend&) -> std::string { return ""; });
  for (auto& rank : ranks) (void)rank.words();
  const auto configs = tcp_configs(3);
  const auto again = tcp_configs(3);
  std::vector<test::Process> others;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    others.emplace_back([&, rank]() -> std::string {
      const auto before = count("/proc/self/fd");
      std::string words;
      {
        const auto comm = TcpBackend::connect(configs[rank]);
        comm.barrier();
        if (rank == 1) words = "left";
        if (rank != 1) words = outcome_of([&] { comm.barrier(); });
      }
      { TcpBackend::connect(again[rank]).barrier(); }
      if (count("/proc/self/fd") != before || count("/proc/self/task") != 1) return "left something behind";
      return words;
    });
  }
  EXPECT_EQ(others[0].words(), "PeerFailed 1");
  EXPECT_EQ(others[1].words(), "left");
  EXPECT_EQ(others[2].words(), "PeerFailed 1");
}

TEST(TcpAbort, EndsEveryRankWhereverItIs) {
  auto ranks = start_ranks(tcp_configs(4), [](const TcpBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() == 1) comm.abort(7);
    if (comm.rank() == 3) comm.barrier();
    for (;;) std::this_thread::sleep_for(1s);
  });
  EXPECT_TRUE(eventually([&] { return std::ranges::all_of(ranks, [](auto& rank) { return rank.ended(); }); }, 5s));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const int status = ranks[rank].await_end();
    if (rank == 1) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    } else {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << "rank " << rank;
    }
  }
}

TEST(TcpFork, LeavesTheRankToItsParent) {
  auto ranks = start_ranks(tcp_configs(2), [](const TcpBackend& comm) -> std::string {
    comm.barrier();
    const pid_t child = fork();
    if (child == 0) {
      const bool refused = outcome_of([&] { comm.barrier(); }) == "InvalidCommunicator";
      _exit(refused ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    comm.barrier();
    return status == 0 ? "refused" : "let in";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "refused");
}

TEST(TcpFork, DoesNotKeepADeadRankAliveForItsPeers) {
  struct Orphan {
    std::atomic<pid_t> pid{0};
  };
  test::Shared<Orphan> orphan;
  auto ranks = start_ranks(tcp_configs(3), [&](const TcpBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() == 1) {
      const pid_t child = fork();
      if (child == 0) {
        std::this_thread::sleep_for(20s);
        _exit(0);
      }
      orphan->pid = child;
      raise(SIGKILL);
    }
    return outcome_of([&] { comm.barrier(); });
  });
  for (const std::size_t rank : {0U, 2U}) EXPECT_EQ(ranks[rank].words(), "PeerFailed 1") << "rank " << rank;
  EXPECT_EQ(kill(orphan->pid, SIGKILL), 0);  // it was there all the time
}

// Parts have a watch of their own.
TEST(TcpDeath, BreaksThePartsOfTheDeadAndNoOthers) {
  test::Shared<Board> board;
  constexpr std::size_t size = 4;
  for (const bool shared_memory : {false, true}) {
    board->ready = 0;
    const auto configs = tcp_configs(size, [&](auto& config) { config.shared_memory = shared_memory; });
    auto ranks = start_ranks(configs, [&](const TcpBackend& comm) -> std::string {
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
    const std::string signal = shared_memory ? " signal 9" : "";
    EXPECT_EQ(ranks[0].words(), "PeerFailed 0" + signal + "; InvalidCommunicator; PeerFailed 1" + signal);
    for (const std::size_t rank : {2U, 3U}) EXPECT_EQ(ranks[rank].words(), "fine; fine; PeerFailed 1" + signal);
  }
}

TEST(TcpDeath, DuringASplitIsPeerFailedOnEveryOtherRank) {
  auto ranks = start_ranks(tcp_configs(3), [&](const TcpBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() == 2) raise(SIGKILL);
    return outcome_of([&] { (void)comm.split(0); });
  });
  EXPECT_EQ(ranks[0].words(), "PeerFailed 2");
  EXPECT_EQ(ranks[1].words(), "PeerFailed 2");
}

}  // namespace
