// Long runs of what is short: protocols fail in the millionth round.

#include <gtest/gtest.h>

#include <random>

#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::ShmBackend;
using test::shm_configs;
using test::start_ranks;

std::vector<std::size_t> rank_counts() {
  return {2, 3, 5};
}

TEST(ShmStress, AStreamOfTinyBroadcastsArrivesInOrderAndWithoutFalseAlarm) {
  for (const std::size_t size : rank_counts()) {
    auto ranks = start_ranks(shm_configs(size), [](const ShmBackend& comm) -> std::string {
      for (std::uint64_t i = 0; i < 400'000; ++i) {
        if (comm.broadcast(comm.rank() == 0 ? i : 0, 0) != i) return "wrong";
      }
      return "right";
    });
    for (auto& rank : ranks) EXPECT_EQ(rank.words(), "right");
  }
}

TEST(ShmStress, StreamsOfAllSizesFromChangingRootsKeepTheirData) {
  for (const std::size_t size : rank_counts()) {
    auto ranks = start_ranks(shm_configs(size), [](const ShmBackend& comm) -> std::string {
      std::mt19937 draw(3);
      std::vector<std::uint32_t> data(30'000);
      for (std::uint32_t round = 0; round < 20'000; ++round) {
        const std::size_t root = draw() % 16 == 0 ? draw() % comm.size() : 0;
        const std::size_t count = draw() % 64 == 0 ? draw() % data.size() : draw() % 400;
        const std::span<std::uint32_t> part(data.data(), count);
        if (comm.rank() == root) std::ranges::fill(part, round);
        comm.broadcast(part, root);
        for (const std::uint32_t value : part) {
          if (value != round) return "wrong in round " + std::to_string(round);
        }
      }
      return "right";
    });
    for (auto& rank : ranks) EXPECT_EQ(rank.words(), "right");
  }
}

TEST(ShmStress, GroupsComeAndGoManyTimes) {
  const auto configs = shm_configs(4);
  std::vector<test::Process> ranks;
  for (const auto& config : configs) {
    ranks.emplace_back([&]() -> std::string {
      for (int round = 0; round < 200; ++round) {
        if (ShmBackend::attach(config).allreduce(1, ReduceOp::Sum) != 4) return "wrong";
      }
      return "right";
    });
  }
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "right");
}

}  // namespace
