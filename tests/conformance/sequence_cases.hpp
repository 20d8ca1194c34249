#pragma once

#include <random>

#include "conformance/allgatherv_cases.hpp"
#include "conformance/allreduce_cases.hpp"
#include "conformance/moving_cases.hpp"
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

/// A mix of operations after which not all ranks have met: who is ahead must not overwrite what others still read.
template <class C>
void run_random_parts(const C& comm, int operations, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(draw() % bound); };
  const std::size_t size = comm.size();
  const std::size_t rank = comm.rank();
  for (int i = 0; i < operations; ++i) {
    const std::size_t count = below(16) == 0 ? below(3000) : below(12);
    const std::size_t root = below(size);
    const std::uint64_t salt = draw();
    const auto equal = [&](std::size_t) { return count; };
    const auto of_rank = [&](std::size_t r, std::size_t n) { return contribution<float>(r, n, salt); };
    const auto send = contribution<float>(rank, count, salt);
    switch (below(6)) {
      case 0: {
        std::vector<float> all(rank == root ? count * size : 0);
        comm.gather(send, all, root);
        if (rank == root) {
          EXPECT_TRUE(all_same(all, joined_parts<float>(size, equal, of_rank))) << "operation " << i;
        }
        break;
      }
      case 1: {
        std::vector<float> own(count);
        comm.scatter(rank == root ? joined_parts<float>(size, equal, of_rank) : std::vector<float>(), own, root);
        EXPECT_TRUE(all_same(own, send)) << "operation " << i;
        break;
      }
      case 2: {
        std::vector<float> sum(rank == root ? count : 0);
        comm.reduce(send, sum, ReduceOp::Sum, root, cobre::comm::Reproducible::Yes);
        if (rank == root) {
          EXPECT_TRUE(all_same(sum, expected_reduction<float>(ReduceOp::Sum, size, count, salt))) << "operation " << i;
        }
        break;
      }
      case 3: {
        std::vector<float> before(count);
        comm.exscan(send, before, ReduceOp::Sum, cobre::comm::Reproducible::Yes);
        if (rank > 0) {
          EXPECT_TRUE(all_same(before, expected_reduction<float>(ReduceOp::Sum, rank, count, salt)))
              << "operation " << i;
        }
        break;
      }
      case 4: {
        const std::vector<std::size_t> counts(size, count % 5 + rank);
        const auto from_each = [&](std::size_t r) { return count % 5 + r; };
        const auto exchanged =
            comm.alltoallv(joined_parts<float>(
                               size, [&](std::size_t) { return counts[0]; },
                               [&](std::size_t to, std::size_t n) { return part<float>(rank, to, n, salt); }),
                           counts);
        const auto for_me = [&](std::size_t r, std::size_t n) { return part<float>(r, rank, n, salt); };
        EXPECT_TRUE(all_same(exchanged.values, joined_parts<float>(size, from_each, for_me))) << "operation " << i;
        break;
      }
      default: {
        EXPECT_EQ(comm.broadcast(static_cast<std::uint64_t>(rank) + salt, root), root + salt) << "operation " << i;
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

  group.add("RandomPartsKeepEveryChecksum", [](const C& comm) { run_random_parts(comm, 250, 20261116); });

  group.add("RandomOperationsKeepEveryChecksum", [random_operations](const C& comm) {
    run_random_operations(comm, random_operations(comm.size()), 20261115);
  });
}

}  // namespace conformance
