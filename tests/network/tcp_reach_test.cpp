// Who connects to whom while hosts vanish and ways between them close. Of six or eight ranks, one a host, 0 and 3 have
// no connection until an operation or a message needs it.

#include <cobre/comm/warnings.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
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

const std::vector<std::size_t> six{0, 1, 2, 3, 4, 5};
const std::vector<std::size_t> eight{0, 1, 2, 3, 4, 5, 6, 7};

struct Board {
  std::atomic<std::size_t> ready{0};
  std::atomic<bool> go{false};
  std::atomic<bool> over{false};
  std::atomic<Clock::rep> happened{0};

  void happens_now() { happened = Clock::now().time_since_epoch().count(); }
  [[nodiscard]] double seconds_since() const {
    const Clock::duration passed(Clock::now().time_since_epoch().count() - happened);
    return std::chrono::duration<double>(passed).count();
  }
  /// All are there: until the test says so.
  void come_and_wait() {
    ++ready;
    eventually([&] { return go.load(); });
  }
  [[nodiscard]] bool all_are_ready(std::size_t count) const {
    return eventually([&] { return ready == count; });
  }
};

// In a gatherv rank 3 sends to rank 0 straight.
void send_to_the_root(const TcpBackend& comm) {
  const std::vector<std::size_t> ones(comm.size(), 1);
  std::vector<std::size_t> displs(comm.size());
  std::iota(displs.begin(), displs.end(), std::size_t{0});
  std::vector<int> all(comm.size());
  comm.gatherv(std::vector<int>(1), all, ones, displs, 0);
}

// The name of an outcome, and the seconds behind it.
void expect_outcome(const std::string& words, const std::string& name, double seconds) {
  ASSERT_TRUE(words.starts_with(name + " after ")) << words;
  EXPECT_LT(std::stod(words.substr(name.size() + 7)), seconds);
}
std::string after(const Board& board, const std::string& words) {
  return words + " after " + std::to_string(board.seconds_since());
}

// Its time counts from when it vanished, and not from when somebody first wanted to connect to it.
TEST(TcpReach, AHostThatHasVanishedIsNotWaitedForAnewByWhoConnectsToItForTheFirstTime) {
  constexpr auto configured = 3s;
  const Network network(8);
  test::Shared<Board> board;
  auto ranks = start_on(
      network, eight,
      [&](const TcpBackend& comm) -> std::string {
        comm.barrier();
        board->come_and_wait();
        if (comm.rank() != 3) return eventually([&] { return board->over.load(); }) ? "" : "forgotten";
        std::this_thread::sleep_for(2500ms);
        const std::string words = after(*board, outcome_of([&] { send_to_the_root(comm); }));
        board->over = true;
        return words;
      },
      [&](TcpConfig& config) { config.host_timeout = configured; });
  ASSERT_TRUE(board->all_are_ready(8));
  network.unplug(0);
  board->happens_now();
  board->go = true;
  expect_outcome(ranks[3].words(), "PeerFailed 0", 4.5);
}

TEST(TcpReach, AHostThatHasVanishedIsWaitedForNoLongerThanTheTimeoutOfAMessage) {
  const Network network(8);
  test::Shared<Board> board;
  auto ranks = start_on(
      network, eight,
      [&](const TcpBackend& comm) -> std::string {
        std::string lines;
        cobre::comm::set_warning_sink([&](std::string_view line) { lines += line; });
        comm.barrier();
        board->come_and_wait();
        if (comm.rank() != 3) return eventually([&] { return board->over.load(); }) ? "" : "forgotten";
        const std::vector<int> data(1);
        const std::string words = after(*board, outcome_of([&] { comm.send(data, 0); }));
        board->over = true;
        cobre::comm::set_warning_sink({});
        return words + "; " + lines;
      },
      [](TcpConfig& config) {
        config.timeout = 500ms;
        config.warn_after = 200ms;
      });
  ASSERT_TRUE(board->all_are_ready(8));
  network.unplug(0);
  board->happens_now();
  board->go = true;
  const std::string words = ranks[3].words();
  expect_outcome(words, "TimedOut 0", 4);
  EXPECT_NE(words.find("send on rank 3 of 8: waiting for"), std::string::npos) << words;
}

// What host 0 answers does not arrive at host 3, and nobody says so. All others are fine.
TEST(TcpReach, AWayThatIsClosedIsWaitedForNoLongerThanTheTimeoutOfAnOperation) {
  const Network network(8);
  test::Shared<Board> board;
  auto ranks = start_on(
      network, eight,
      [&](const TcpBackend& comm) -> std::string {
        comm.barrier();
        board->come_and_wait();
        return after(*board, outcome_of([&] { send_to_the_root(comm); }).substr(0, 8));
      },
      [](TcpConfig& config) { config.timeout = 1s; });
  ASSERT_TRUE(board->all_are_ready(8));
  network.close_way(0, 3);
  board->happens_now();
  board->go = true;
  for (const std::size_t rank : {0U, 3U}) expect_outcome(ranks[rank].words(), "TimedOut", 5);
}

TEST(TcpReach, ADeathIsHeardByWhoIsConnectingToSomebodyElse) {
  double quickest = 1e9;
  for (int attempt = 0; attempt < 3 && quickest >= 0.1; ++attempt) {
    const Network network(8);
    test::Shared<Board> board;
    auto ranks = start_on(network, eight, [&](const TcpBackend& comm) -> std::string {
      comm.barrier();
      board->come_and_wait();
      if (comm.rank() == 5) {
        std::this_thread::sleep_for(500ms);
        board->happens_now();
        raise(SIGKILL);
      }
      if (comm.rank() != 3) return eventually([&] { return board->over.load(); }) ? "" : "forgotten";
      const std::string words = after(*board, outcome_of([&] { send_to_the_root(comm); }));
      board->over = true;
      return words;
    });
    ASSERT_TRUE(board->all_are_ready(8));
    network.close_way(0, 3);
    board->go = true;
    const std::string words = ranks[3].words();
    expect_outcome(words, "PeerFailed 5", 5);
    quickest = std::min(quickest, std::stod(words.substr(19)));
  }
  EXPECT_LT(quickest, 0.1);
}

// Rank 3 comes by now and then, and computes in between.
TEST(TcpReach, WhoConnectsBesideItsCallerDoesNotHoldItUp) {
  const Network network(6);
  test::Shared<Board> board;
  auto ranks = start_on(network, six, [&](const TcpBackend& comm) -> std::string {
    comm.ibarrier().wait();
    comm.barrier();
    board->come_and_wait();
    std::vector<double> ones(std::size_t{1} << 19, 1.0);
    auto sums = comm.iallreduce(std::move(ones), ReduceOp::Sum);
    Clock::duration longest{};
    for (bool done = false; !done;) {
      const auto begin = Clock::now();
      done = sums.test();
      longest = std::max(longest, Clock::now() - begin);
      std::this_thread::sleep_for(1ms);
    }
    const auto all = sums.get();
    return std::to_string(all.front()) + (longest < 1500ms ? "" : ", after a long wait in one call");
  });
  ASSERT_TRUE(board->all_are_ready(6));
  network.close_way(0, 3);
  board->happens_now();
  board->go = true;
  std::this_thread::sleep_for(3s);
  network.open_way(0, 3);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "6.000000");
}

// Rank 2 asks rank 1, which cannot answer; meanwhile everything is called off.
TEST(TcpReach, WhatIsCalledOffAtTheStartIsHeardByWhoIsConnecting) {
  const Network network(3);
  const auto configs = test::tcp_configs(3, [](TcpConfig& config) {
    config.coordinator = Network::address(0);
    config.connect_timeout = 20s;
  });
  network.close_way(1, 2);
  test::Shared<Board> board;
  std::vector<test::Process> ranks;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank]() -> std::string {
      network.enter(rank);
      const std::string words = outcome_of([&] { (void)TcpBackend::connect(configs[rank]); });
      return after(*board, words);
    });
  }
  std::this_thread::sleep_for(1s);
  board->happens_now();
  ranks[0].signal(SIGKILL);
  for (const std::size_t rank : {1U, 2U}) expect_outcome(ranks[rank].words(), "PeerFailed 0", 3);
}

std::string without_who_says_it(std::string words) {
  const std::size_t number = words.find("on rank ");
  if (number != std::string::npos) words.erase(number, 10);
  return words;
}

struct Way {
  std::size_t from;
  std::size_t to;
};

// What all of six ranks say of an operation, and of a barrier after it, where the way between two of them has closed:
// the same, and it names both, with their addresses.
std::string said_by_all(const Way& closed, const std::function<void(const TcpBackend&)>& operation,
                        const std::function<void(TcpConfig&)>& change) {
  const Network network(6);
  test::Shared<Board> board;
  auto ranks = start_on(
      network, six,
      [&](const TcpBackend& comm) -> std::string {
        comm.barrier();
        board->come_and_wait();
        const std::string words = outcome_of([&] { operation(comm); });
        return without_who_says_it(words) + "; " + outcome_of([&] { comm.barrier(); });
      },
      change);
  EXPECT_TRUE(board->all_are_ready(6));
  network.close_way(closed.from, closed.to);
  board->go = true;
  std::string first = ranks[0].words();
  EXPECT_NE(first.find(" at 10.77.0.4"), std::string::npos) << first;
  EXPECT_NE(first.find(" cannot reach rank 0 at 10.77.0.1:"), std::string::npos) << first;
  for (const std::size_t rank : {1U, 2U, 3U, 4U, 5U}) EXPECT_EQ(ranks[rank].words(), first) << "rank " << rank;
  return first;
}

// Both are alive, and so neither is said to have failed: everyone hears which two it is, and where they are.
TEST(TcpReach, TwoThatCannotReachEachOtherAreBothNamedToEveryone) {
  const auto exchange = [](const TcpBackend& comm) {
    std::vector<std::size_t> parts(comm.size());
    std::vector<std::size_t> got(comm.size());
    comm.alltoall(parts, got);
  };
  for (const auto& [closed, why] :
       {std::pair(Way{3, 0}, "Invalid argument"), std::pair(Way{0, 3}, "Connection timed out")}) {
    const std::string said = said_by_all(closed, exchange, [](TcpConfig& config) { config.host_timeout = 2s; });
    EXPECT_TRUE(said.starts_with("other: alltoall of 6: failed with error code 0: rank 3 at ")) << said;
    EXPECT_TRUE(said.ends_with(std::string(": ") + why + "; InvalidCommunicator")) << said;
  }
}

// What rank 3 could not do counts more than that rank 0 has waited for it. The whole is as good as before.
TEST(TcpReach, TwoOfAPartThatCannotReachEachOtherAreBothNamedToEveryone) {
  const std::string said = said_by_all(
      {3, 0}, [](const TcpBackend& comm) { (void)comm.split(static_cast<int>(comm.rank() % 3)); },
      [](TcpConfig& config) { config.connect_timeout = 3s; });
  EXPECT_TRUE(
      said.starts_with("other: split of 6: failed with error code 0: the ranks of a part cannot reach each "
                       "other; rank 3 says, in the numbers of its part: rank 1 at "))
      << said;
  EXPECT_TRUE(said.ends_with("; fine")) << said;
}

// Rank 2 never comes. Rank 0 and rank 1 wait for it, and lose each other meanwhile.
TEST(TcpReach, AHostThatVanishesWhileOthersAreAwaitedIsNoticed) {
  for (const std::size_t victim : {0U, 1U}) {
    const Network network(3);
    const auto configs = test::tcp_configs(3, [](TcpConfig& config) {
      config.coordinator = Network::address(0);
      config.connect_timeout = 20s;
      config.host_timeout = 1s;
    });
    test::Shared<Board> board;
    std::vector<test::Process> ranks;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank]() -> std::string {
        network.enter(rank);
        const std::string words = outcome_of([&] { (void)TcpBackend::connect(configs[rank]); });
        return after(*board, words);
      });
      for (const auto& one : ranks) one.await_rest();
    }
    network.unplug(victim);
    board->happens_now();
    expect_outcome(ranks[1 - victim].words(), "PeerFailed " + std::to_string(victim), 5);
  }
}

}  // namespace
