// More than fits 32 bits, over the wire: opt-in, because it needs more than ten gigabytes of memory.

#include <gtest/gtest.h>

#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::TcpBackend;
using namespace std::chrono_literals;

constexpr std::size_t elements = (std::size_t{4} << 30) / sizeof(double) + 12345;

// Checks what it can afford to: ends, middle, and the places around every 2^32 bytes.
std::string wrong_at(const std::vector<double>& data, double expected) {
  constexpr std::size_t boundary = (std::size_t{4} << 30) / sizeof(double);
  for (const std::size_t i : {std::size_t{0}, elements / 2, boundary - 1, boundary, boundary + 1, elements - 1}) {
    if (data[i] != expected + static_cast<double>(i % 7)) return "wrong at " + std::to_string(i);
  }
  return "fine";
}

TEST(TcpLarge, ABroadcastAndAReductionOfMoreThanFourGibibytesArriveWhole) {
  auto ranks = test::start_ranks(test::tcp_configs(2), [](const TcpBackend& comm) -> std::string {
    std::vector<double> data(elements);
    if (comm.rank() == 1) {
      for (std::size_t i = 0; i < elements; ++i) data[i] = 5.0 + static_cast<double>(i % 7);
    }
    comm.broadcast(data, 1);
    const std::string received = wrong_at(data, 5.0);
    if (received != "fine") return "broadcast: " + received;
    comm.allreduce_inplace(data, ReduceOp::Max);
    return wrong_at(data, 5.0);
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(200s), "fine");
}

}  // namespace
