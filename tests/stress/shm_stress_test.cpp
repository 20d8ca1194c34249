// Long runs of what is short: protocols fail in the millionth round.

#include <gtest/gtest.h>

#include <random>

#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::ShmBackend;
using cobre::comm::SingleCopy;
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

TEST(ShmStress, RandomOperationsOfAllKindsKeepTheirSums) {
  for (const auto single_copy : {SingleCopy::Auto, SingleCopy::Off}) {
    for (const std::size_t size : rank_counts()) {
      auto ranks = start_ranks(shm_configs(size, [&](auto& config) { config.single_copy = single_copy; }),
                               [](const ShmBackend& comm) -> std::string {
                                 std::mt19937_64 draw(size_t{17} + comm.size());
                                 const auto sum_of_ranks =
                                     static_cast<std::uint64_t>(comm.size() * (comm.size() - 1) / 2);
                                 for (std::uint64_t round = 0; round < 15'000; ++round) {
                                   const std::size_t count = draw() % 100 == 0 ? draw() % 60'000 : draw() % 50;
                                   switch (draw() % 5) {
                                     case 0: comm.barrier(); break;
                                     case 1: {
                                       std::vector<std::uint64_t> data(count, round * 100 + comm.rank());
                                       comm.allreduce_inplace(data, ReduceOp::Sum);
                                       for (const std::uint64_t value : data) {
                                         if (value != comm.size() * round * 100 + sum_of_ranks)
                                           return "wrong sum in round " + std::to_string(round);
                                       }
                                       break;
                                     }
                                     case 2: {
                                       const std::size_t root = draw() % comm.size();
                                       std::vector<std::uint64_t> data(count, comm.rank() == root ? round : 0);
                                       comm.broadcast(data, root);
                                       for (const std::uint64_t value : data) {
                                         if (value != round) return "wrong broadcast in round " + std::to_string(round);
                                       }
                                       break;
                                     }
                                     case 3: {
                                       const std::vector<std::uint64_t> data(count + comm.rank(), round + comm.rank());
                                       const auto gathered = comm.allgatherv(data);
                                       for (std::size_t rank = 0; rank < comm.size(); ++rank) {
                                         for (std::size_t i = 0; i < gathered.counts[rank]; ++i) {
                                           if (gathered.values[gathered.displs[rank] + i] != round + rank)
                                             return "wrong gather";
                                         }
                                       }
                                       break;
                                     }
                                     default:
                                       if (draw() % 200 == 0) {
                                         auto region = comm.create_shared_region<std::uint64_t>(count + 1);
                                         if (comm.is_leader()) region.as_mut_span().back() = round;
                                         region.fence();
                                         if (region.as_span().back() != round) return "wrong region";
                                         region.fence();
                                       }
                                   }
                                 }
                                 return "right";
                               });
      for (auto& rank : ranks) EXPECT_EQ(rank.words(std::chrono::seconds(100)), "right");
    }
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
