#pragma once

#include <cobre/comm.hpp>

#include <chrono>
#include <numeric>

#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

template <class C>
void identity_cases(Suite<C>& suite) {
  auto group = suite.group("Identity");

  group.add("RankIsBelowSize", [](const C& comm) {
    EXPECT_GE(comm.size(), 1U);
    EXPECT_LT(comm.rank(), comm.size());
  });

  group.add("RanksAreAPermutationAndSizesAgree", [](const C& comm) {
    const auto ranks = comm.allgatherv(std::vector{comm.rank()});
    const auto sizes = comm.allgatherv(std::vector{comm.size()});
    for (std::size_t rank = 0; rank < comm.size(); ++rank) {
      EXPECT_EQ(ranks.values[rank], rank);
      EXPECT_EQ(sizes.values[rank], comm.size());
    }
  });

  group.add("TopologyPlacesEveryRankOnExactlyOneHost", [](const C& comm) {
    const auto& topology = comm.topology();
    EXPECT_EQ(topology.world_size, comm.size());
    std::vector<int> seen(comm.size());
    std::size_t previous_first = 0;
    for (const auto& host : topology.hosts) {
      EXPECT_FALSE(host.hostname.empty());
      EXPECT_FALSE(host.ranks.empty());
      EXPECT_TRUE(std::is_sorted(host.ranks.begin(), host.ranks.end()));
      EXPECT_GE(host.ranks.front(), previous_first);
      previous_first = host.ranks.front();
      for (const std::size_t rank : host.ranks) seen.at(rank) += 1;
    }
    for (const int times : seen) EXPECT_EQ(times, 1);
  });

  group.add("TopologyTellsAlikeOnAllRanksWhereEachMayRun", [](const C& comm) {
    const auto& topology = comm.topology();
    ASSERT_EQ(topology.placements.size(), comm.size());
    std::vector<std::size_t> facts;
    for (std::size_t rank = 0; rank < comm.size(); ++rank) {
      const auto& placement = topology.placements[rank];
      const auto& host = topology.hosts.at(topology.host_index_of(rank));
      EXPECT_GE(placement.cpus, 1U);
      EXPECT_GE(placement.sharers, 1U);
      EXPECT_LE(placement.sharers, host.ranks.size());
      EXPECT_GE(topology.recommended_threads(rank), 1U);
      facts.insert(facts.end(), {placement.cpus, placement.sharers, placement.numa_domains.size()});
      facts.insert(facts.end(), placement.numa_domains.begin(), placement.numa_domains.end());
    }
    const auto everyones = comm.allgatherv(facts);
    for (std::size_t rank = 0; rank < comm.size(); ++rank) {
      const auto begin = everyones.values.begin() + static_cast<std::ptrdiff_t>(everyones.displs[rank]);
      EXPECT_TRUE(
          std::equal(facts.begin(), facts.end(), begin, begin + static_cast<std::ptrdiff_t>(everyones.counts[rank])))
          << "rank " << rank << " sees something else";
    }
  });

  group.add("BarrierLetsNobodyLeaveBeforeEverybodyEntered", [](const C& comm) {
    for (int round = 0; round < 5; ++round) {
      const auto late = static_cast<std::size_t>(round) % comm.size();
      if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };  // one clock a host
      const auto entered = now();
      comm.barrier();
      const auto left = now();
      EXPECT_LE(comm.allreduce(entered, ReduceOp::Max), comm.allreduce(left, ReduceOp::Min));
    }
  });

  group.add("BarriersFollowOneAnother", [](const C& comm) {
    for (int i = 0; i < 1000; ++i) comm.barrier();
  });
}

}  // namespace conformance
