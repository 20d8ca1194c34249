// Long runs of what is short: protocols fail in the thousandth round.

#include <gtest/gtest.h>

#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::TcpBackend;
using test::start_ranks;
using test::tcp_configs;

TEST(TcpStress, AStreamOfTinyBroadcastsArrivesInOrderAndWithoutFalseAlarm) {
  for (const std::size_t size : {2U, 3U, 5U}) {
    auto ranks = start_ranks(tcp_configs(size), [](const TcpBackend& comm) -> std::string {
      for (std::uint64_t i = 0; i < 20'000; ++i) {
        if (comm.broadcast(comm.rank() == 0 ? i : 0, 0) != i) return "wrong";
      }
      return "right";
    });
    for (auto& rank : ranks) EXPECT_EQ(rank.words(), "right");
  }
}

}  // namespace
