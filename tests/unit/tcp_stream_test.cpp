// Messages that arrive before anybody asks for them.

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
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

}  // namespace
