// How long a job of sixteen ranks on one host needs to come together. Whatever else the machine does can only add to
// that, so one start in time is proof; it runs alone, and ends with the first.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <ranges>
#include <string>
#include <vector>

#include "support/tcp_ranks.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t size = 16;
constexpr auto wanted = 200ms;
constexpr int most_starts = 10;

// From the first call into the library to the return of the last.
test::Clock::duration one_start(bool shared_memory) {
  struct Board {
    test::Meeting here;
    std::array<std::atomic<test::Clock::time_point>, size> called{};
    std::array<std::atomic<test::Clock::time_point>, size> returned{};
  };
  const test::Shared<Board> board;
  const auto configs = test::tcp_configs(size, [&](auto& config) { config.shared_memory = shared_memory; });
  std::vector<test::Process> ranks;
  for (std::size_t rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank]() -> std::string {
      board->here.wait_for(size);
      board->called[rank] = test::Clock::now();
      const auto comm = test::TcpBackend::connect(configs[rank]);
      board->returned[rank] = test::Clock::now();
      comm.barrier();  // nobody goes home while others are still coming
      return "fine";
    });
  }
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
  const auto time = [](const auto& one) { return one.load(); };
  return std::ranges::max(board->returned | std::views::transform(time)) -
         std::ranges::min(board->called | std::views::transform(time));
}

class TcpStartup : public testing::TestWithParam<bool> {};

TEST_P(TcpStartup, OfSixteenRanksOnOneHostTakesLessThanAFifthOfASecond) {
  auto shortest = test::Clock::duration::max();
  for (int start = 0; start < most_starts && shortest >= wanted && !HasFailure(); ++start) {
    shortest = std::min(shortest, one_start(GetParam()));
  }
  EXPECT_LT(std::chrono::duration_cast<std::chrono::milliseconds>(shortest), wanted);
}

std::string way(const testing::TestParamInfo<bool>& shared_memory) {
  return shared_memory.param ? "ThroughSharedMemory" : "OverSocketsAlone";
}

INSTANTIATE_TEST_SUITE_P(Of, TcpStartup, testing::Bool(), way);

}  // namespace
