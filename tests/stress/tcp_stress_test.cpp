// Long runs of what is short, and jobs that come and go: protocols fail in the thousandth round.

#include <gtest/gtest.h>

#include <random>

#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::TcpBackend;
using test::outcome_of;
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

// Killed at a random moment of random operations, again and again: everyone names the victim, nobody hangs.
TEST(TcpStress, AVictimAtARandomMomentIsNamedByAll) {
  std::mt19937 draw(7);
  for (int round = 0; round < 40; ++round) {
    const std::size_t size = 2 + draw() % 4;
    const std::size_t victim = draw() % size;
    const auto moment = std::chrono::microseconds(draw() % 20'000);
    auto ranks = start_ranks(tcp_configs(size), [&](const TcpBackend& comm) -> std::string {
      std::mt19937_64 same_everywhere(1);
      if (comm.rank() == victim) {
        std::thread([&] {
          std::this_thread::sleep_for(moment);
          raise(SIGKILL);
        }).detach();
      }
      return outcome_of([&] {
        for (;;) {
          std::vector<double> data(same_everywhere() % 20'000, 1.0);
          switch (same_everywhere() % 3) {
            case 0: comm.barrier(); break;
            case 1: comm.broadcast(data, same_everywhere() % comm.size()); break;
            default: comm.allreduce_inplace(data, ReduceOp::Sum);
          }
        }
      });
    });
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(ranks[rank].words(), "PeerFailed " + std::to_string(victim)) << "round " << round << " rank " << rank;
    }
  }
}

}  // namespace
