// Messages that arrive before anybody asks for them.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::TcpBackend;
using namespace std::chrono_literals;

// Short ones are taken from the kernel together, and long ones follow whose beginning came with them.
TEST(TcpStream, KeepsMessagesOfEveryLengthApartForRanksThatAreBehind) {
  const std::vector<std::size_t> lengths{1, 8, 0, 2047, 2048, 2049, 40, 16384, 3, 70000, 0, 5, 2048, 300000, 7};
  auto ranks = test::start_ranks(test::tcp_configs(3), [&](const TcpBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() != 0) std::this_thread::sleep_for(20ms);
    for (std::uint8_t round = 0; round < 20; ++round) {
      for (const std::size_t length : lengths) {
        std::vector<std::uint8_t> expected(length);
        std::iota(expected.begin(), expected.end(), static_cast<std::uint8_t>(length + round));
        std::vector<std::uint8_t> data = comm.rank() == 0 ? expected : std::vector<std::uint8_t>(length);
        comm.broadcast(data, 0);
        if (data != expected) return "wrong data of " + std::to_string(length) + " bytes";
      }
      if (comm.allreduce(1, ReduceOp::Sum) != 3) return "wrong sum";
    }
    return "fine";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

// Pairs that no collective uses open their connection with the first message, whoever sends it, and both may do so at
// once: each round on a new communicator, where no pair has talked yet.
TEST(TcpStream, KeepsMessagesInOrderWhoeverOpensTheConnectionOfThePair) {
  auto ranks = test::start_ranks(test::tcp_configs(6), [&](const TcpBackend& comm) -> std::string {
    const std::size_t opposite = (comm.rank() + 3) % 6;
    const bool lower = comm.rank() < opposite;
    constexpr int messages = 20;
    for (int round = 0; round < 12; ++round) {
      const TcpBackend fresh = comm.duplicate();
      const auto channel = fresh.channel(opposite, 9);
      const auto send = [&] {
        for (int i = 0; i < messages; ++i) channel.send(round * messages + i);
      };
      const auto receive = [&] {
        bool right = true;
        for (int i = 0; i < messages; ++i) right = channel.recv<int>() == round * messages + i && right;
        return right;
      };
      fresh.barrier();
      const bool sends_first = round % 3 == 0 || (round % 3 == 1) == lower;
      if (sends_first) send();
      if (!receive()) return "out of order in round " + std::to_string(round);
      if (!sends_first) send();
      // Once more, now that both know the connection.
      send();
      if (!receive()) return "out of order again in round " + std::to_string(round);
    }
    return "fine";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

TEST(TcpStream, SaysOnWhichHostAPeerWasThatLeft) {
  auto ranks = test::start_ranks(test::tcp_configs(2), [&](const TcpBackend& comm) -> std::string {
    if (comm.rank() == 1) return std::to_string(getpid());
    try {
      (void)comm.channel(1, 0).recv<int>();
      return "received";
    } catch (const cobre::comm::PeerFailed& error) {
      if (error.rank() != 1 || error.host().value_or("").empty()) return error.what();
      return std::to_string(error.pid().value_or(0));
    }
  });
  EXPECT_EQ(ranks[0].words(), ranks[1].words());
}

// More than a peer's machine takes before the peer reads, and not more than this machine keeps for it.
TEST(TcpStream, LetsRanksLeaveThatHaveUnreadMessagesOfEachOther) {
  auto ranks = test::start_ranks(test::tcp_configs(3), [&](const TcpBackend& comm) -> std::string {
    cobre::comm::set_warning_sink([](std::string_view) {});  // of what is unread
    const std::vector<std::byte> message(40'000);
    for (int i = 0; i < 5; ++i) {
      for (std::size_t peer = 0; peer < comm.size(); ++peer) {
        if (peer != comm.rank()) comm.channel(peer, 0).send(message);
      }
    }
    comm.barrier();
    return "left";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "left");
}

}  // namespace
