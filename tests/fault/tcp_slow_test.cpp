// Messages that the kernels cannot hold, for ranks that come late to take them.

#include <cobre/comm/warnings.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::TcpBackend;
using test::outcome_of;
using test::start_ranks;
using test::tcp_configs;
using namespace std::chrono_literals;

// Rank 1 comes so late that a machine which is silent meanwhile would be lost: this one is not, its kernel answers.
void expect_a_late_reader_gets(std::size_t elements, std::size_t ranks_of_the_job, std::chrono::milliseconds late) {
  auto ranks = start_ranks(tcp_configs(ranks_of_the_job, [](auto& config) { config.host_timeout = 1s; }),
                           [&](const TcpBackend& comm) -> std::string {
                             std::vector<double> data(elements, comm.rank() == 0 ? 1.5 : 0.0);
                             comm.barrier();
                             if (comm.rank() == 1) std::this_thread::sleep_for(late);
                             const std::string outcome = outcome_of([&] { comm.broadcast(data, 0); });
                             return outcome + (data.front() + data.back() == 3.0 ? "" : ", with garbage");
                           });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

TEST(TcpSlowRank, IsWaitedForByWhoeverSendsItMoreThanItsKernelHolds) {
  expect_a_late_reader_gets(std::size_t{2} << 20, 3, 3s);
}

TEST(TcpSlowRank, GetsWhatARankThatHasLeftHadSentIt) {
  expect_a_late_reader_gets(std::size_t{1} << 19, 2, 2500ms);
}

// Ranks 0 and 3 of eight have no connection until they need one. Rank 0 lives, but does not answer.
TEST(TcpSlowRank, ThatIsStoppedIsWaitedForAlsoByWhoeverConnectsToItForTheFirstTime) {
  struct Board {
    std::atomic<int> ready{0};
  };
  test::Shared<Board> board;
  auto ranks = start_ranks(tcp_configs(8,
                                       [](auto& config) {
                                         config.host_timeout = 1s;
                                         config.timeout = 2500ms;
                                         config.warn_after = 300ms;
                                       }),
                           [&](const TcpBackend& comm) -> std::string {
                             std::string lines;
                             cobre::comm::set_warning_sink([&](std::string_view line) { lines += line; });
                             comm.barrier();
                             ++board->ready;
                             if (comm.rank() == 0) {
                               test::eventually([&] { return board->ready == 8; });
                               raise(SIGSTOP);
                             }
                             if (comm.rank() != 3) {
                               test::eventually([&] { return board->ready == 10; });
                               return "";
                             }
                             test::eventually([&] { return board->ready == 9; });
                             std::vector<int> data(1);
                             const std::string words = outcome_of([&] { comm.send(data, 0); });
                             ++board->ready;
                             cobre::comm::set_warning_sink({});
                             return words + "; " + lines;
                           });
  ranks[0].await_stop();
  ++board->ready;
  const std::string words = ranks[3].words();
  EXPECT_TRUE(words.starts_with("TimedOut 0; ")) << words;
  EXPECT_NE(words.find("send on rank 3 of 8: waiting for"), std::string::npos) << words;
  EXPECT_NE(words.find("rank 0 does not answer"), std::string::npos) << words;
}

// Ranks 0 and 3 of six have no connection until they need one, in neither communicator.
TEST(TcpSlowRank, ThatIsStoppedKeepsNobodyAtAConnectionForLongerThanTheCallSays) {
  struct Board {
    std::atomic<int> ready{0};
    std::atomic<bool> stopped{false};
    std::atomic<bool> tried{false};
  };
  test::Shared<Board> board;
  auto ranks = start_ranks(tcp_configs(6), [&](const TcpBackend& comm) -> std::string {
    const TcpBackend twin = comm.duplicate();
    comm.barrier();
    ++board->ready;
    if (comm.rank() == 3) {
      test::eventually([&] { return board->ready == 6; });
      raise(SIGSTOP);
      const int started = comm.channel(0, 1).recv<int>();
      return std::to_string(started) + " " + std::to_string(twin.channel(0, 1).recv<int>());
    }
    if (comm.rank() != 0) {
      test::eventually([&] { return board->tried.load(); });
      return "";
    }
    test::eventually([&] { return board->stopped.load(); });
    const auto in_time = [](auto least, auto&& call) {
      const auto begin = test::Clock::now();
      call();
      const auto taken = test::Clock::now() - begin;
      return taken >= least && taken < least + 1s;
    };
    const auto to_twin = twin.channel(3, 1);
    std::string words;
    const bool given_up = in_time(200ms, [&] { words = outcome_of([&] { to_twin.send(1, 200ms); }); });
    std::optional<cobre::comm::PendingMail<std::vector<int>>> started;
    const bool at_once = in_time(0ms, [&] { started = comm.channel(3, 1).isend(std::vector{2}); });
    board->tried = true;
    started->wait();
    to_twin.send(3);
    return words + (given_up ? " in time" : " late") + (at_once ? ", at once" : ", late");
  });
  ranks[3].await_stop();
  board->stopped = true;
  test::eventually([&] { return board->tried.load(); });
  ranks[3].signal(SIGCONT);
  EXPECT_EQ(ranks[0].words(), "TimedOut 3 in time, at once");
  EXPECT_EQ(ranks[3].words(), "2 3");
}

// Rank 3 waits for a message that rank 0 began to send while rank 3 was stopped, and gave up.
TEST(TcpSlowRank, ThatWasStoppedHearsOfAMessageThatWasGivenUpBeforeThereWasAConnection) {
  struct Board {
    std::atomic<int> ready{0};
    std::atomic<bool> stopped{false};
    std::atomic<bool> dropped{false};
    std::atomic<bool> heard{false};
  };
  test::Shared<Board> board;
  auto ranks = start_ranks(tcp_configs(6), [&](const TcpBackend& comm) -> std::string {
    const TcpBackend twin = comm.duplicate();
    comm.barrier();
    ++board->ready;
    if (comm.rank() == 3) {
      test::eventually([&] { return board->ready == 6; });
      raise(SIGSTOP);
      const std::string words = outcome_of([&] { (void)comm.channel(0, 1).recv<int>(); });
      board->heard = true;
      return words.substr(0, 5);
    }
    if (comm.rank() != 0) {
      test::eventually([&] { return board->heard.load(); });
      return "";
    }
    test::eventually([&] { return board->stopped.load(); });
    cobre::comm::set_warning_sink([](std::string_view) {});
    std::string words = outcome_of([&] {
      const auto dropped = comm.channel(3, 1).isend(std::vector{1});
      throw std::runtime_error("of something else");
    });
    board->dropped = true;
    // Whatever this rank waits for now.
    words += ", " + outcome_of([&] { (void)twin.channel(1, 1).recv<int>(20s); });
    return words;
  });
  ranks[3].await_stop();
  board->stopped = true;
  test::eventually([&] { return board->dropped.load(); });
  ranks[3].signal(SIGCONT);
  const std::string words = ranks[3].words();
  EXPECT_TRUE(words == "other" || words == "PeerF") << words;
  EXPECT_EQ(ranks[0].words().substr(0, 38), "other: of something else, PeerFailed 1");
}

}  // namespace
