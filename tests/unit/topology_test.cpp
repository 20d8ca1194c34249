// Who runs where: placements, hosts, shares of work and of memory.

#include <gtest/gtest.h>
#include <cobre/comm/base/slurm.hpp>
#include <cobre/comm/block_distribution.hpp>
#include <cobre/comm/local.hpp>
#include <cobre/comm/resources.hpp>
#include <cobre/comm/warnings.hpp>

#include <limits>

#include "comm/core/memory_limits.hpp"
#include "comm/topology/host.hpp"
#include "comm/topology/machine.hpp"
#include "comm/topology/placement.hpp"
#include "support/environment.hpp"

namespace {

using namespace cobre::comm;
using topology::PlacementRecord;

TEST(Placement, EqualSetsOfCpusAreShared) {
  const std::vector<PlacementRecord> records{{.host = 1, .cpu_set = 7, .cpus = 8},
                                             {.host = 1, .cpu_set = 7, .cpus = 8},
                                             {.host = 1, .cpu_set = 9, .cpus = 3},
                                             {.host = 2, .cpu_set = 7, .cpus = 8}};
  ExecutionTopology topology;
  topology.world_size = 4;
  topology.placements = topology::placements_of(records);
  EXPECT_EQ(topology.recommended_threads(0), 4U);
  EXPECT_EQ(topology.recommended_threads(1), 4U);
  EXPECT_EQ(topology.recommended_threads(2), 3U);
  EXPECT_EQ(topology.recommended_threads(3), 8U) << "another host has CPUs of its own";
  EXPECT_EQ(topology.recommended_threads(4), 1U) << "nothing is known of a rank that is not there";
}

TEST(Placement, MoreRanksThanCpusStillRunOneThreadEach) {
  const std::vector<PlacementRecord> records(5, {.host = 1, .cpu_set = 7, .cpus = 2});
  ExecutionTopology topology;
  topology.placements = topology::placements_of(records);
  EXPECT_EQ(topology.recommended_threads(3), 1U);
}

TEST(Placement, WhatSlurmWasAskedForOutranksWhatIsThere) {
  ExecutionTopology topology;
  topology.placements = {{.cpus = 16, .sharers = 1, .numa_domains = {0}}};
  topology.slurm = SlurmJobInfo{"17", "n[1-2]", 6};
  EXPECT_EQ(topology.recommended_threads(0), 6U);
}

TEST(Placement, RanksThatSpanDomainsAreNamedInOneWarning) {
  std::vector<PlacementRecord> records(3, {.host = 1, .domains = {0b11, 0}, .cpu_set = 7, .cpus = 4});
  records[1].domains = {0b10, 0};
  ExecutionTopology topology;
  topology.world_size = 3;
  topology.placements = topology::placements_of(records);
  EXPECT_EQ(topology.ranks_that_span_domains(), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(topology.numa_domain_of(1), 1U);
  EXPECT_EQ(topology.numa_domain_of(0), std::nullopt);

  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view line) { warnings.emplace_back(line); });
  topology::warn_of_spanning(topology);
  topology.world_size = 1;
  topology::warn_of_spanning(topology);
  set_warning_sink({});
  ASSERT_EQ(warnings.size(), 1U) << "a rank that is alone is not there to be placed";
  EXPECT_NE(warnings[0].find("ranks 0 and 2 may run on several NUMA domains"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("--bind numa"), std::string::npos) << warnings[0];
}

TEST(Hosts, AreToldApartByIdentityAndNotByNameAlone) {
  const std::vector<std::string> names{"node", "node", "other", "node"};
  const std::vector<PlacementRecord> records{{.host = 1}, {.host = 2}, {.host = 3}, {.host = 1}};
  const auto hosts = topology::hosts_of(names, records);
  ASSERT_EQ(hosts.size(), 3U);
  EXPECT_EQ(hosts[0], (HostInfo{"node", {0, 3}}));
  EXPECT_EQ(hosts[1], (HostInfo{"node", {1}}));
  EXPECT_EQ(hosts[2], (HostInfo{"other", {2}}));
  ExecutionTopology topology;
  topology.hosts = hosts;
  EXPECT_EQ(topology.host_index_of(3), 0U);
  EXPECT_EQ(topology.host_index_of(1), 1U);
  EXPECT_EQ(topology.host_index_of(9), 3U);
  EXPECT_FALSE(topology.is_homogeneous());
}

TEST(Hosts, HaveAnIdentityThatStays) {
  EXPECT_EQ(topology::host_identity(), topology::host_identity());
  EXPECT_NE(topology::host_identity(), 0U);
}

TEST(Local, KnowsWhereItRuns) {
  const LocalBackend comm;
  const auto& topology = comm.topology();
  ASSERT_EQ(topology.placements.size(), 1U);
  EXPECT_GE(topology.placements[0].cpus, 1U);
  EXPECT_EQ(topology.placements[0].sharers, 1U);
  EXPECT_GE(topology.recommended_threads(0), 1U);
  EXPECT_EQ(topology.leader_hostname(), topology::host_name());
}

#ifdef COBRE_COMM_HAS_HWLOC
TEST(Machine, HasTheDomainsThatHwlocSees) {
  test::ScopedEnvironment environment;
  environment.set("HWLOC_SYNTHETIC", "package:2 numa:1 core:2 pu:1");
  const auto domains = topology::numa_domains();
  ASSERT_EQ(domains.size(), 2U);
  EXPECT_EQ(domains[0].cpus[0], 0b0011U);
  EXPECT_EQ(domains[1].cpus[0], 0b1100U);
  const auto machine = topology::look_at_machine();
  EXPECT_EQ(machine.sockets, 2U);
  EXPECT_EQ(machine.cores.size(), 4U);
  EXPECT_EQ(machine.domains.size(), 2U);
}

TEST(Machine, CoresAreCutToWhatMayBeUsed) {
  test::ScopedEnvironment environment;
  environment.set("HWLOC_SYNTHETIC", "package:1 numa:1 core:2 pu:2");
  const auto machine = topology::look_at_machine();
  const auto cores = topology::allowed_cores(machine, {0b0110});
  ASSERT_EQ(cores.size(), 2U);
  EXPECT_EQ(cores[0][0], 0b0010U);
  EXPECT_EQ(cores[1][0], 0b0100U);
}
#endif

TEST(Machine, EveryCpuIsACoreWhereNothingIsKnownOfCores) {
  EXPECT_EQ(topology::allowed_cores({}, {0b1011}).size(), 3U);
}

TEST(BlockDistribution, DealsEverythingOutInOrder) {
  for (const std::size_t total : {0U, 1U, 5U, 7U, 8U, 100U}) {
    for (const std::size_t ranks : {1U, 2U, 3U, 7U, 8U}) {
      const BlockDistribution share(total, ranks);
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(share.start(rank), next);
        EXPECT_LE(share.count(rank), share.count(0));
        EXPECT_GE(share.count(rank) + 1, share.count(0));
        for (std::size_t i = 0; i < share.count(rank); ++i) EXPECT_EQ(share.owner(next + i), rank);
        next += share.count(rank);
      }
      EXPECT_EQ(next, total);
    }
  }
}

TEST(BlockDistribution, GivesToNobodyWhatIsNotThere) {
  for (const std::size_t total : {0U, 3U, 4U, 7U}) {
    for (const std::size_t ranks : {1U, 4U, 5U}) {
      const BlockDistribution share(total, ranks);
      for (const std::size_t index : {total, total + 1, std::numeric_limits<std::size_t>::max()}) {
        EXPECT_EQ(share.owner(index), share.ranks()) << index << " of " << total << " on " << ranks;
      }
    }
  }
}

TEST(BlockDistribution, GivesNothingToRanksThatAreNotThere) {
  for (const std::size_t total : {0U, 3U, 10U}) {
    const BlockDistribution share(total, 4);
    for (const std::size_t rank : {std::size_t{4}, std::size_t{5}, std::numeric_limits<std::size_t>::max()}) {
      EXPECT_EQ(share.count(rank), 0U) << total << " for rank " << rank;
      EXPECT_EQ(share.start(rank), total) << total << " for rank " << rank;
    }
  }
}

TEST(BlockDistribution, OfNoRanksIsThatOfOne) {
  const BlockDistribution share(3, 0);
  EXPECT_EQ(share.ranks(), 1U);
  EXPECT_EQ(share.count(0), 3U);
  EXPECT_EQ(share.owner(2), 0U);
}

class SlurmMemory : public testing::Test {
 protected:
  SlurmMemory() {
    for (const char* const name : {"SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"}) {
      environment_.unset(name);
    }
  }
  test::ScopedEnvironment environment_;
};

TEST_F(SlurmMemory, IsWhatWasAskedForTheNode) {
  environment_.set("SLURM_MEM_PER_NODE", "64");
  environment_.set("SLURM_MEM_PER_CPU", "1");
  environment_.set("SLURM_CPUS_ON_NODE", "2");
  EXPECT_EQ(slurm::memory_on_node_bytes(), std::uint64_t{64} << 20);
  EXPECT_EQ(node_memory_budget(), std::uint64_t{64} << 20);
}

TEST_F(SlurmMemory, IsOtherwiseThatOfEachCpuTimesTheCpus) {
  environment_.set("SLURM_MEM_PER_CPU", "10");
  EXPECT_EQ(slurm::memory_on_node_bytes(), std::nullopt) << "of how many CPUs is not known";
  environment_.set("SLURM_CPUS_ON_NODE", "3");
  EXPECT_EQ(slurm::memory_on_node_bytes(), std::uint64_t{30} << 20);
  environment_.set("SLURM_CPUS_ON_NODE", "0");
  EXPECT_EQ(slurm::memory_on_node_bytes(), std::nullopt) << "nothing at all cannot be meant";
}

TEST_F(SlurmMemory, OfZeroIsAllThatTheMachineHas) {
  environment_.set("SLURM_MEM_PER_NODE", "0");
  EXPECT_EQ(slurm::memory_on_node_bytes(), std::nullopt);
  EXPECT_GT(node_memory_budget(), std::uint64_t{64} << 20);
}

TEST_F(SlurmMemory, NeverExceedsWhatTheMachineHas) {
  environment_.set("SLURM_MEM_PER_NODE", "1000000000");
  EXPECT_LE(node_memory_budget(), core::available_memory().bytes + (std::uint64_t{1} << 30));
  environment_.set("SLURM_MEM_PER_NODE", "99999999999999999999");
  EXPECT_EQ(slurm::memory_on_node_bytes(), std::nullopt);
}

}  // namespace
