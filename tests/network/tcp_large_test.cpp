// More than fits 32 bits, over the wire: opt-in, because it needs more than ten gigabytes of memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>

#include "support/long_messages.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::TcpBackend;
using namespace std::chrono_literals;

constexpr std::size_t boundary = (std::size_t{4} << 30) / sizeof(double);
constexpr std::size_t elements = boundary + 12345;

// Checks what it can afford to: ends, middle, and the places around every 2^32 bytes.
std::string wrong_at(const std::vector<double>& data, double expected) {
  for (const std::size_t i : {std::size_t{0}, elements / 2, boundary - 1, boundary, boundary + 1, elements - 1}) {
    if (data[i] != expected + static_cast<double>(i % 7)) return "wrong at " + std::to_string(i);
  }
  return "fine";
}

// Before each of them no rank has what it shall have afterwards at any place that is looked at, or only its own part.
TEST(TcpLarge, WhatIsLongerThanFourGibibytesIsBroadcastReducedAndGatheredWhole) {
  auto ranks = test::start_ranks(test::tcp_configs(2), [](const TcpBackend& comm) -> std::string {
    std::vector<double> data(elements);
    if (comm.rank() == 1) {
      for (std::size_t i = 0; i < elements; ++i) data[i] = 5.0 + static_cast<double>(i % 7);
    }
    comm.broadcast(data, 1);
    const std::string received = wrong_at(data, 5.0);
    if (received != "fine") return "broadcast: " + received;

    if (comm.rank() == 0) std::ranges::fill(data, 3.0);
    comm.allreduce_inplace(data, ReduceOp::Sum);
    const std::string reduced = wrong_at(data, 8.0);
    if (reduced != "fine") return "allreduce: " + reduced;

    // One part is too long by itself, the other one lies behind it.
    const std::array<std::size_t, 2> counts{boundary + 1, elements - boundary - 1};
    const std::array<std::size_t, 2> displs{0, boundary + 1};
    const std::size_t other = 1 - comm.rank();
    std::ranges::fill(std::span(data).subspan(displs[other], counts[other]), 0.0);
    comm.allgatherv_inplace(data, counts, displs);
    const std::string gathered = wrong_at(data, 8.0);
    return gathered == "fine" ? "fine" : "allgatherv: " + gathered;
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(200s), "fine");
}

// An odd number of ranks, and bytes that no number of them divides: no part ends where one of a power of two would.
TEST(TcpLarge, WhatIsLongerThanFourGibibytesIsBroadcastAndReducedWholeByThreeRanks) {
  constexpr std::size_t size = 3;
  constexpr std::size_t bytes = (std::size_t{4} << 30) + 12345;
  auto ranks = test::start_ranks(test::tcp_configs(size), [](const TcpBackend& comm) -> std::string {
    test::Message data = comm.rank() == 1 ? test::message_of(1, bytes) : test::Message(bytes);
    comm.broadcast(data, 1);
    const std::string received = test::judged(data, 1);
    if (received != "fine") return "broadcast: " + received;

    test::Message greatest = test::pattern_of(0);
    for (std::size_t rank = 1; rank < size; ++rank) {
      const test::Message other = test::pattern_of(rank);
      std::ranges::transform(greatest, other, greatest.begin(), [](auto a, auto b) { return std::max(a, b); });
    }
    data = test::Message();  // before the next one is there
    data = test::message_of(comm.rank(), bytes);
    comm.allreduce_inplace(data, ReduceOp::Max);
    const std::string reduced = test::compared(data, greatest);
    return reduced == "fine" ? "fine" : "allreduce: " + reduced;
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(200s), "fine");
}

}  // namespace
