// Messages that the kernels cannot hold, for ranks that come late to take them.

#include <cobre/comm/warnings.hpp>

#include <gtest/gtest.h>

#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::TcpBackend;
using test::outcome_of;
using test::start_ranks;
using test::tcp_configs;
using namespace std::chrono_literals;

// More than the kernels hold, and for longer than a machine may be silent: this one is not, its kernel answers.
TEST(TcpSlowRank, IsWaitedForByWhoeverSendsItMoreThanItsKernelHolds) {
  auto ranks = start_ranks(tcp_configs(3, [](auto& config) { config.host_timeout = 1s; }),
                           [&](const TcpBackend& comm) -> std::string {
                             std::vector<double> data(std::size_t{2} << 20, comm.rank() == 0 ? 1.5 : 0.0);
                             comm.barrier();
                             if (comm.rank() == 1) std::this_thread::sleep_for(3s);
                             const std::string outcome = outcome_of([&] { comm.broadcast(data, 0); });
                             return outcome + (data.front() + data.back() == 3.0 ? "" : ", with garbage");
                           });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

TEST(TcpSlowRank, GetsWhatARankThatHasLeftHadSentIt) {
  auto ranks = start_ranks(tcp_configs(2, [](auto& config) { config.host_timeout = 1s; }),
                           [&](const TcpBackend& comm) -> std::string {
                             std::vector<double> data(std::size_t{1} << 19, comm.rank() == 0 ? 1.5 : 0.0);
                             comm.barrier();
                             if (comm.rank() == 1) std::this_thread::sleep_for(2500ms);
                             const std::string outcome = outcome_of([&] { comm.broadcast(data, 0); });
                             return outcome + (data.front() + data.back() == 3.0 ? "" : ", with garbage");
                           });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
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
}

}  // namespace
