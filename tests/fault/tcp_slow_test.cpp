// Messages that the kernels cannot hold, for ranks that come late to take them.

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

}  // namespace
