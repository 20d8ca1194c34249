// Several hosts: what they share, how they find each other, and what happens when one of them is gone.

#include <cobre/comm/warnings.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/tcp_hosts.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::TcpBackend;
using cobre::comm::TcpConfig;
using test::Clock;
using test::eventually;
using test::Network;
using test::outcome_of;
using test::start_on;
using namespace std::chrono_literals;

TEST(TcpHosts, ShareMemoryAmongTheirOwnRanksOnly) {
  const Network network(2);
  auto ranks = start_on(network, {0, 0, 0, 1, 1}, [](const TcpBackend& comm) -> std::string {
    const auto local = comm.split_local();
    auto region = comm.create_shared_region<int>(4);
    if (comm.is_leader()) std::ranges::fill(region.as_mut_span(), static_cast<int>(comm.rank()));
    region.fence();
    local->barrier();
    return std::to_string(local->rank()) + " of " + std::to_string(local->size()) + ", " +
           std::to_string(comm.topology().num_hosts()) + " hosts, " + std::to_string(region.as_span()[3]);
  });
  EXPECT_EQ(ranks[0].words(), "0 of 3, 2 hosts, 0");
  EXPECT_EQ(ranks[1].words(), "1 of 3, 2 hosts, 0");
  EXPECT_EQ(ranks[2].words(), "2 of 3, 2 hosts, 0");
  EXPECT_EQ(ranks[3].words(), "0 of 2, 2 hosts, 3");
  EXPECT_EQ(ranks[4].words(), "1 of 2, 2 hosts, 3");
}

struct Board {
  std::atomic<int> ready{0};
  std::atomic<Clock::rep> unplugged{0};
};

// Killed on its host, seen there in shared memory, named everywhere by its number in the job.
TEST(TcpHosts, NameADeadRankByItsNumberInTheJob) {
  const Network network(2);
  for (const std::size_t victim : {0U, 1U, 2U, 3U}) {
    test::Shared<Board> board;
    auto ranks = start_on(network, {0, 0, 1, 1}, [&](const TcpBackend& comm) -> std::string {
      comm.barrier();
      if (comm.rank() == victim) {
        eventually([&] { return board->ready == 3; });
        std::this_thread::sleep_for(20ms);
        raise(SIGKILL);
      }
      ++board->ready;
      const std::string first = outcome_of([&] { comm.barrier(); });
      return first + "; " + outcome_of([&] { comm.barrier(); });
    });
    for (std::size_t rank = 0; rank < 4; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(ranks[rank].words(), "PeerFailed " + std::to_string(victim) + "; InvalidCommunicator")
          << "rank " << rank;
    }
  }
}

// A fence concerns the ranks of one host alone; what goes wrong there has the names and the patience of the job.
TEST(TcpHosts, NameTheDeadInAFenceByTheirNumberInTheJob) {
  const Network network(2);
  test::Shared<test::Meeting> made;
  auto ranks = start_on(network, {0, 0, 1, 1}, [&](const TcpBackend& comm) -> std::string {
    auto region = comm.create_shared_region<int>(4);
    made->wait_for(4);
    if (comm.rank() == 3) raise(SIGKILL);
    return comm.rank() == 2 ? outcome_of([&] { region.fence(); }) : "elsewhere";
  });
  // With the signal where the memory is the first to know, without where the network is.
  EXPECT_EQ(ranks[2].words().substr(0, 12), "PeerFailed 3");
}

TEST(TcpHosts, GiveUpAFenceWhenItsTimeIsUp) {
  const Network network(2);
  test::Shared<Board> board;
  auto ranks = start_on(
      network, {0, 0, 1, 1},
      [&](const TcpBackend& comm) -> std::string {
        std::string warning;
        cobre::comm::set_warning_sink([&](std::string_view line) { warning = line; });
        auto region = comm.create_shared_region<int>(4);
        const auto local = comm.split_local();
        if (comm.rank() == 3) {
          eventually([&] { return board->ready == 1; });
          return "late";
        }
        if (comm.rank() != 2) return "elsewhere";
        const std::string words =
            outcome_of([&] { region.fence(); }) + "; " + outcome_of([&] { local->barrier(); }) + "; " + warning;
        ++board->ready;
        return words;
      },
      [](TcpConfig& config) {
        config.timeout = 1s;
        config.warn_after = 300ms;
      });
  const std::string words = ranks[2].words();
  // The ranks of the local communicator are counted from 0.
  EXPECT_TRUE(words.starts_with("TimedOut 3; TimedOut 1; ")) << words;
  EXPECT_NE(words.find("on rank "), std::string::npos) << words;
}

TEST(TcpHosts, NameARankOfAnotherHostThatDisagrees) {
  const Network network(2);
  auto ranks = start_on(network, {0, 0, 1, 1}, [](const TcpBackend& comm) -> std::string {
    std::vector<double> data(comm.rank() == 3 ? 8 : 7);
    return outcome_of([&] { comm.allreduce_inplace(data, ReduceOp::Sum); });
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "CollectiveMismatch count 3");
}

struct Vanishing {
  std::vector<std::size_t> host_of;
  std::size_t host;                 // the one that vanishes
  std::chrono::milliseconds phase;  // between two signs of life
  void (*wait)(const TcpBackend&) = [](const TcpBackend& comm) { comm.barrier(); };
};

// All that are left name the same rank, one of those that vanished. How long it took the last of them, of the
// configured time; nothing where something else came out.
std::optional<double> time_until_all_know(const Vanishing& vanishing, std::chrono::milliseconds configured) {
  const std::size_t size = vanishing.host_of.size();
  const auto is_gone = [&](std::size_t rank) { return vanishing.host_of[rank] == vanishing.host; };
  const Network network(3);
  test::Shared<Board> board;
  auto ranks = start_on(
      network, vanishing.host_of,
      [&](const TcpBackend& comm) -> std::string {
        vanishing.wait(comm);
        ++board->ready;
        if (is_gone(comm.rank())) std::this_thread::sleep_for(10s);
        const std::string words = outcome_of([&] { vanishing.wait(comm); });
        const auto took = Clock::duration(Clock::now().time_since_epoch().count() - board->unplugged);
        return words + " " + std::to_string(std::chrono::duration<double>(took) / configured);
      },
      [&](TcpConfig& config) { config.host_timeout = configured; });
  EXPECT_TRUE(eventually([&] { return board->ready == static_cast<int>(size); }));
  std::this_thread::sleep_for(vanishing.phase);
  board->unplugged = Clock::now().time_since_epoch().count();
  network.unplug(vanishing.host);
  double slowest = 0;
  std::optional<std::size_t> named;
  for (std::size_t rank = 0; rank < size; ++rank) {
    if (is_gone(rank)) continue;
    const std::string words = ranks[rank].words();
    std::istringstream said(words);
    std::string outcome;
    std::size_t victim = size;
    double took = 0;
    const bool understood = static_cast<bool>(said >> outcome >> victim >> took);
    EXPECT_TRUE(understood && outcome == "PeerFailed" && victim < size && is_gone(victim)) << rank << ": " << words;
    if (testing::Test::HasFailure()) return std::nullopt;
    EXPECT_EQ(victim, named.value_or(victim)) << "rank " << rank << " names another one than those before it";
    EXPECT_GT(took, 0.4);
    EXPECT_LT(took, 2) << "however busy the machine is";
    named = victim;
    slowest = std::max(slowest, took);
  }
  return slowest;
}

// Not before half of the time is over either: who is slow is not gone. A machine that has other things to do may be
// late, but not three times in a row.
void expect_all_know_in_time(const Vanishing& vanishing) {
  std::optional<double> quickest;
  for (int attempt = 0; attempt < 3 && quickest.value_or(2) > 1; ++attempt) {
    const auto took = time_until_all_know(vanishing, 1500ms);
    ASSERT_TRUE(took);
    quickest = std::min(*took, quickest.value_or(*took));
  }
  EXPECT_LT(*quickest, 1);
}

// Whichever host it is, and whenever it happens between two signs of life.
TEST(TcpHosts, ThatVanishAreNoticedWithinTheConfiguredTime) {
  const std::vector<std::size_t> one_each{0, 1, 2};
  for (const auto& [host, phase] : {std::pair(2U, 0ms), std::pair(2U, 200ms), std::pair(0U, 100ms)}) {
    expect_all_know_in_time({one_each, host, phase});
  }
}

// Of each host but the one that has vanished one rank waits at the network, and the other one in the memory of its
// host, which is as it should be.
TEST(TcpHosts, ThatVanishAreNoticedInTheMemoryOfTheOtherHosts) {
  const std::vector<std::size_t> two_each{0, 0, 1, 1, 2, 2};
  const auto allreduce = [](const TcpBackend& comm) { (void)comm.allreduce(1.0, ReduceOp::Sum); };
  expect_all_know_in_time({two_each, 2, 0ms});
  expect_all_know_in_time({two_each, 2, 200ms, allreduce});
  expect_all_know_in_time({two_each, 0, 100ms, allreduce});
}

// Who computes meanwhile is told by its next call, which does not wait for that time again.
TEST(TcpHosts, ThatVanishAreNamedByTheNextCallOfWhoWasNotWaiting) {
  for (const std::size_t victim : {0U, 2U}) {
    const Network network(3);
    test::Shared<Board> board;
    const auto has_noticed = [&] { return board->ready == 4; };
    auto ranks = start_on(
        network, {0, 1, 2},
        [&](const TcpBackend& comm) -> std::string {
          comm.barrier();
          ++board->ready;
          if (comm.rank() == victim) std::this_thread::sleep_for(10s);
          if (comm.rank() == 1) {
            const std::string words = outcome_of([&] { comm.barrier(); });
            ++board->ready;
            return words;
          }
          eventually(has_noticed);
          const auto begin = Clock::now();
          const std::string words = outcome_of([&] { comm.barrier(); });
          return words + (Clock::now() - begin < 500ms ? ", at once" : ", late");
        },
        [&](TcpConfig& config) { config.host_timeout = 1500ms; });
    ASSERT_TRUE(eventually([&] { return board->ready == 3; }));
    network.unplug(victim);
    EXPECT_EQ(ranks[1].words(), "PeerFailed " + std::to_string(victim));
    EXPECT_EQ(ranks[2 - victim].words(), "PeerFailed " + std::to_string(victim) + ", at once");
  }
}

TEST(TcpHosts, ThatDoNotAnswerHaveFifteenSecondsWhereNothingElseIsConfigured) {
  EXPECT_EQ(TcpConfig{}.host_timeout, 15s);
}

// It is not the silence of a process that counts: its machine answers, though the process was never seen again.
TEST(TcpHosts, OnWhichARankIsStoppedHaveNotVanished) {
  const Network network(2);
  test::Shared<Board> board;
  auto ranks = start_on(
      network, {0, 1},
      [&](const TcpBackend& comm) -> std::string {
        comm.barrier();
        ++board->ready;
        if (comm.rank() == 1) raise(SIGSTOP);
        return outcome_of([&] { comm.barrier(); });
      },
      [](TcpConfig& config) { config.host_timeout = 1s; });
  ASSERT_TRUE(eventually([&] { return board->ready == 2; }));
  std::this_thread::sleep_for(2500ms);
  ranks[1].signal(SIGCONT);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

// Rank 0 listens at both of its addresses; the others are told one first whose packets vanish on their way, of which
// the kernel hears nothing either.
TEST(TcpHosts, AreFoundByTheAddressThatWorksWhereAnotherIsDead) {
  const std::string dead = "10.99.0.1";
  const Network network(3);
  network.add_address(0, dead + "/32");
  network.add_dead_interface(1, "10.99.0.2/24", dead);
  network.add_dead_interface(2, "10.99.0.3/24", dead);
  auto configs = test::tcp_configs(3, [](TcpConfig& config) { config.coordinator = "meeting-place"; });
  std::vector<test::Process> ranks;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank]() -> std::string {
      network.enter(rank);
      Network::use_hosts_file("127.0.0.1 localhost\n" + dead + " meeting-place\n" + Network::address(0) +
                              " meeting-place\n");
      const auto begin = Clock::now();
      const auto comm = TcpBackend::connect(configs[rank]);
      const bool waited = Clock::now() - begin >= 500ms;
      return "sum " + std::to_string(comm.allreduce(1, ReduceOp::Sum)) + (waited ? "" : ", without trying the other");
    });
  }
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "sum 3");
}

TEST(TcpHosts, ThatCannotReachEachOtherAreBothNamed) {
  const Network network(3);
  // Ranks 1 and 2 reach rank 0, but not each other.
  auto configs = test::tcp_configs(3, [](TcpConfig& config) {
    config.coordinator = Network::address(0);
    config.connect_timeout = 10s;
  });
  std::vector<test::Process> ranks;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank]() -> std::string {
      network.enter(rank);
      if (rank == 2) (void)!std::system(("ip route add blackhole " + Network::address(1) + "/32").c_str());
      return outcome_of([&] { TcpBackend::connect(configs[rank]).barrier(); });
    });
  }
  for (auto& rank : ranks) {
    const std::string words = rank.words();
    EXPECT_NE(words.find("rank 2 at 10.77.0.3"), std::string::npos) << words;
    EXPECT_NE(words.find("cannot reach rank 1 at 10.77.0.2"), std::string::npos) << words;
  }
}

// Here rank 1 is asked, but what it answers does not come through, and nobody says so.
TEST(TcpHosts, ThatGetNoAnswerFromEachOtherAreBothNamedAtTheDeadline) {
  const Network network(3);
  auto configs = test::tcp_configs(3, [](TcpConfig& config) {
    config.coordinator = Network::address(0);
    config.connect_timeout = 2s;
  });
  std::vector<test::Process> ranks;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank]() -> std::string {
      network.enter(rank);
      if (rank == 1) (void)!std::system(("ip route add blackhole " + Network::address(2) + "/32").c_str());
      const auto begin = Clock::now();
      const std::string words = outcome_of([&] { TcpBackend::connect(configs[rank]).barrier(); });
      const auto took = Clock::now() - begin;
      return words + (took < 1500ms ? ", early" : took < 4s ? ", in time" : ", late");
    });
  }
  for (auto& rank : ranks) {
    const std::string words = rank.words();
    EXPECT_NE(words.find("rank 2 at 10.77.0.3"), std::string::npos) << words;
    EXPECT_NE(words.find("cannot reach rank 1 at 10.77.0.2"), std::string::npos) << words;
    EXPECT_TRUE(words.ends_with(", in time")) << words;
  }
}

}  // namespace
