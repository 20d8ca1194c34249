#pragma once

#include <random>

#include "conformance/allgatherv_cases.hpp"
#include "conformance/allreduce_cases.hpp"
#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

/// A mix of operations whose kinds, sizes, types and roots every rank draws alike from one seed.
template <class C>
void run_random_operations(const C& comm, int operations, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(draw() % bound); };
  for (int i = 0; i < operations; ++i) {
    // Mostly small, sometimes across every threshold.
    const std::size_t count = below(8) == 0 ? below(3000) : below(40);
    const std::uint64_t salt = draw();
    switch (below(7)) {
      case 0: comm.barrier(); break;
      case 1: {
        const std::size_t root = below(comm.size());
        auto buffer = comm.rank() == root ? contribution<double>(root, count, salt) : std::vector<double>(count);
        comm.broadcast(buffer, root);
        EXPECT_TRUE(all_same(buffer, contribution<double>(root, count, salt))) << "operation " << i;
        break;
      }
      case 2: {
        const std::size_t root = below(comm.size());
        auto buffer = comm.rank() == root ? contribution<Seven>(root, count, salt) : std::vector<Seven>(count);
        comm.broadcast(buffer, root);
        EXPECT_TRUE(all_same(buffer, contribution<Seven>(root, count, salt))) << "operation " << i;
        break;
      }
      case 3: check_allreduce<double>(comm, ReduceOp::Sum, count, salt); break;
      case 4: check_allreduce<std::int16_t>(comm, ReduceOp::BitwiseXor, count, salt); break;
      case 5: {
        std::vector<std::size_t> counts;
        for (std::size_t rank = 0; rank < comm.size(); ++rank) counts.push_back(below(count + 1));
        check_allgatherv<float>(comm, counts, layout(counts, ascending(comm.size()), below(3)), 1, salt);
        break;
      }
      default: {
        const auto value = Make<std::uint64_t>::from(noise(comm.rank(), 0, salt));
        const auto gathered = comm.allgatherv(std::array{value});
        for (std::size_t rank = 0; rank < comm.size(); ++rank) {
          EXPECT_EQ(gathered.values[rank], noise(rank, 0, salt)) << "operation " << i;
        }
        break;
      }
    }
  }
}

template <class C>
void sequence_cases(Suite<C>& suite, RandomOperations random_operations) {
  auto group = suite.group("Sequence");

  group.add("OperationsOfDifferentKindsNeverSeeStaleData", [](const C& comm) {
    for (std::uint64_t round = 0; round < 50; ++round) {
      const std::vector<std::size_t> counts(comm.size(), 1 + round % 4);
      check_allgatherv<double>(comm, counts, layout(counts, ascending(comm.size()), 0), 0, round);
      check_allreduce<double>(comm, ReduceOp::Sum, 1 + round % 5, round);
      comm.barrier();
      check_allgatherv<std::int32_t>(comm, counts, layout(counts, ascending(comm.size()), 1), 0, round + 1000);
      EXPECT_EQ(comm.broadcast(static_cast<int>(round) + static_cast<int>(comm.rank()), round % comm.size()),
                static_cast<int>(round) + static_cast<int>(round % comm.size()));
    }
  });

  group.add("ManyBroadcastsWithoutAnythingBetweenArriveInOrder", [](const C& comm) {
    for (std::uint64_t round = 0; round < 500; ++round) {
      const std::size_t count = 1 + round * 37 % 600;
      auto buffer = comm.rank() == 0 ? contribution<double>(0, count, round) : std::vector<double>(count);
      comm.broadcast(buffer, 0);
      EXPECT_TRUE(all_same(buffer, contribution<double>(0, count, round)));
    }
  });

  group.add("RandomOperationsKeepEveryChecksum", [random_operations](const C& comm) {
    run_random_operations(comm, random_operations(comm.size()), 20261115);
  });
}

}  // namespace conformance
