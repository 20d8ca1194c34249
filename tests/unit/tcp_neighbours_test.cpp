// Who shares a host with whom, and who has a connection to whom from the start.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/backends/tcp/hosts.hpp"
#include "comm/backends/tcp/messages.hpp"
#include "comm/backends/tcp/neighbours.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;

TEST(TcpNeighbours, KnowEachOtherFromBothSides) {
  for (std::size_t size = 1; size <= 40; ++size) {
    for (std::size_t rank = 0; rank < size; ++rank) {
      for (const std::size_t peer : neighbours(rank, size)) {
        EXPECT_TRUE(peer < size && neighbours(peer, size).contains(rank)) << rank << " and " << peer;
      }
      for (const std::size_t peer : usual_peers(rank, size)) {
        EXPECT_TRUE(peer < size && usual_peers(peer, size).contains(rank)) << rank << " and " << peer;
      }
    }
  }
}

TEST(TcpNeighbours, LeadToTheLowestRankWhoeverHasLeft) {
  for (std::size_t size = 2; size <= 40; ++size) {
    for (std::size_t gone = 0; gone <= size; ++gone) {
      const auto has_left = [&](std::size_t rank) { return rank == gone; };
      for (std::size_t rank = 0; rank < size; ++rank) {
        if (has_left(rank)) continue;
        std::size_t root = rank;
        while (const auto up = parent_of(root, size, has_left)) {
          ASSERT_LT(*up, root);
          ASSERT_TRUE(neighbours(root, size).contains(*up));
          root = *up;
        }
        EXPECT_EQ(root, gone == 0 ? 1U : 0U) << "rank " << rank << " of " << size << " without " << gone;
      }
    }
  }
}

Hosts hosts_of(const std::vector<int>& host_of, std::size_t rank) {
  std::vector<Member> members(host_of.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].rank = static_cast<std::uint32_t>(i);
    members[i].host[0] = static_cast<std::uint8_t>(host_of[i]);
    members[i].shares_memory = 1;
    members[i].cpu_quota = 8;
    members[i].cpus[0] = std::uint64_t{1} << i % 64;
  }
  return find_hosts(members, rank);
}

TEST(TcpHosts, AreOneRankEachWhereTheyFormWholeBranchesOfTheTree) {
  EXPECT_EQ(hosts_of({0, 0, 1, 1, 2, 2}, 3).step, 2U);
  EXPECT_EQ(hosts_of({0, 0, 0, 0, 1, 1, 1, 1, 2}, 3).step, 4U);  // the last may have fewer
  EXPECT_EQ(hosts_of({0, 0, 0, 1, 1, 1}, 3).step, 1U);           // three ranks are no branch
  EXPECT_EQ(hosts_of({0, 1, 0, 1}, 3).step, 1U);
  EXPECT_EQ(hosts_of({0, 0, 1, 1, 1, 1}, 3).step, 1U);
  const Hosts hosts = hosts_of({0, 0, 1, 1}, 3);
  EXPECT_EQ(hosts.own, 1U);
  EXPECT_EQ(hosts.place, 1U);
  EXPECT_EQ(hosts.cpus, 2U);
}

TEST(TcpHosts, HaveOneRankThatSpeaksForThemWhereverTheirRanksAre) {
  for (const std::vector<int>& layout :
       {std::vector{0, 0, 1, 1}, {0, 0, 0, 1, 1, 1}, {0, 1, 0, 1}, {0, 1, 1}, {0, 0}}) {
    EXPECT_TRUE(hosts_of(layout, 0).one_speaks);
  }
  EXPECT_FALSE(hosts_of({0, 1, 2}, 0).one_speaks);  // each for itself
  const Hosts hosts = hosts_of({0, 1, 0, 1, 1}, 4);
  EXPECT_EQ(hosts.place, 2U);
  EXPECT_EQ(hosts.place_of(2), 1U);
  EXPECT_EQ(hosts.place_of(1), 0U);
}

TEST(TcpHosts, KnowWhoTalksToWhomFromBothSides) {
  for (const std::vector<int>& layout :
       {std::vector{0, 0, 1, 1, 2, 2, 3, 3}, {0, 0, 0, 1, 1, 1, 2}, {0, 1, 2, 0, 1, 2, 0}, {0, 1, 2, 3, 4}}) {
    const Hosts hosts = hosts_of(layout, 0);
    for (std::size_t rank = 0; rank < layout.size(); ++rank) {
      EXPECT_FALSE(usual_peers(rank, hosts).contains(rank));
      for (const std::size_t peer : usual_peers(rank, hosts)) {
        EXPECT_TRUE(usual_peers(peer, hosts).contains(rank)) << rank << " and " << peer;
      }
    }
  }
  EXPECT_TRUE(usual_peers(1, hosts_of({0, 0, 1, 1}, 0)).empty());  // another one speaks for it
  EXPECT_TRUE(usual_peers(0, hosts_of({0, 0, 0, 1, 1, 1}, 0)).contains(3));
}

TEST(TcpHosts, WithMoreRanksThanCanShareMemoryAreManyToTheNetwork) {
  EXPECT_EQ(hosts_of(std::vector<int>(128, 0), 3).step, 128U);
  const Hosts crowded = hosts_of(std::vector<int>(256, 0), 3);
  EXPECT_FALSE(crowded.all_share);
  EXPECT_FALSE(crowded.one_speaks);
  EXPECT_EQ(crowded.step, 1U);
}

}  // namespace
