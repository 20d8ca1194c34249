#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <unistd.h>
#include <string>

#include "support/environment.hpp"
#include "support/slurm_job.hpp"

namespace {

using namespace cobre::comm;

TEST(LocalBackend, NamesThisHostInItsTopology) {
  const LocalBackend comm;
  const auto& topology = comm.topology();
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof name - 1), 0);
  EXPECT_EQ(topology.backend, BackendKind::Local);
  EXPECT_EQ(topology.num_hosts(), 1U);
  EXPECT_EQ(topology.leader_hostname(), name);
  EXPECT_TRUE(topology.is_homogeneous());
  EXPECT_FALSE(topology.mpi);
}

TEST(LocalBackend, NamesTheSlurmJobInItsTopology) {
  // Found out once in a process: each time in a new one.
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  test::for_each_slurm_job([](const auto& expected) {
    EXPECT_EXIT(std::_Exit(LocalBackend().topology().slurm == expected ? 0 : 1), testing::ExitedWithCode(0), "");
  });
}

TEST(LocalBackend, AbortEndsTheProcessWithTheCode) {
  EXPECT_EXIT(LocalBackend().abort(7), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(create_communicator(BackendKind::Local).abort(3), testing::ExitedWithCode(3), "");
}

TEST(LocalBackend, GivesTheConcreteTypeToAVisitor) {
  const auto comm = create_communicator(BackendKind::Local);
  EXPECT_EQ(comm.visit([](const auto& backend) { return sizeof backend; }), sizeof(LocalBackend));
}

TEST(HeapRegion, AMovedFromRegionIsEmpty) {
  const LocalBackend comm;
  auto first = comm.create_shared_region<int>(5);
  const auto second = std::move(first);
  EXPECT_EQ(first.size(), 0U);
  EXPECT_TRUE(first.as_span().empty());
  EXPECT_EQ(second.size(), 5U);
}

TEST(HeapRegion, GivesATypeItsOwnDefault) {
  struct Priced {
    double price = 1.5;
  };
  static_assert(CommData<Priced>);
  const auto region = LocalBackend().create_shared_region<Priced>(3);
  for (const auto& item : region.as_span()) EXPECT_EQ(item.price, 1.5);
}

TEST(HeapRegion, SaysWhyItCannotBeHad) {
  try {
    (void)LocalBackend().create_shared_region<double>(std::size_t{1} << 44);
    FAIL();
  } catch (const AllocationFailed& error) {
    EXPECT_EQ(error.requested_bytes(), std::size_t{1} << 47);
    const std::string text = error.what();
    EXPECT_NE(text.find("create_shared_region on rank 0 of 1: 140737488355328 bytes could not be had: the "),
              std::string::npos);
    EXPECT_NE(text.find(" bytes; ask for less, or run where there is more"), std::string::npos) << text;
  }
}

TEST(ExecutionTopology, IsHomogeneousWhereHostsHaveEquallyManyRanks) {
  const auto topology = [](std::vector<std::size_t> ranks_per_host) {
    ExecutionTopology result;
    std::size_t next = 0;
    for (const std::size_t ranks : ranks_per_host) {
      HostInfo host{"host-" + std::to_string(result.hosts.size()), {}};
      for (std::size_t i = 0; i < ranks; ++i) host.ranks.push_back(next++);
      result.hosts.push_back(host);
    }
    return result;
  };
  EXPECT_TRUE(topology({}).is_homogeneous());
  EXPECT_TRUE(topology({4}).is_homogeneous());
  EXPECT_TRUE(topology({4, 4}).is_homogeneous());
  EXPECT_FALSE(topology({4, 3}).is_homogeneous());
  EXPECT_EQ(topology({}).leader_hostname(), "unknown");
  EXPECT_EQ(topology({1, 1}).leader_hostname(), "host-0");
  EXPECT_EQ(topology({1, 1}).num_hosts(), 2U);
}

}  // namespace
