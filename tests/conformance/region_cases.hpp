#pragma once

#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

template <class C>
void region_cases(Suite<C>& suite) {
  auto group = suite.group("Region");

  group.add("IsZeroFilledThenShowsEveryRankWhatItsLeaderWrote", [](const C& comm) {
    auto region = comm.template create_shared_region<double>(100);
    EXPECT_EQ(region.size(), 100U);
    for (const double value : region.as_span()) EXPECT_EQ(value, 0.0);
    region.fence();
    if (comm.is_leader()) {
      auto values = region.as_mut_span();
      EXPECT_EQ(values.size(), 100U);
      std::iota(values.begin(), values.end(), 0.0);
    }
    region.fence();
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(region.as_span()[i], static_cast<double>(i));
  });

  group.add("NeverShowsAStaleValueOverAThousandRounds", [](const C& comm) {
    auto region = comm.template create_shared_region<std::uint64_t>(1024);
    std::size_t stale = 0;
    for (std::uint64_t round = 1; round <= 1000; ++round) {
      if (comm.is_leader()) {
        for (auto& value : region.as_mut_span()) value = round;
      }
      region.fence();
      for (const std::uint64_t value : region.as_span()) {
        stale += value != round ? 1 : 0;
      }
      region.fence();
    }
    EXPECT_EQ(stale, 0U);
  });

  group.add("CanBeFilledByAllRanksOfANodeTogether", [](const C& comm) {
    const auto node = comm.split_local();
    auto region = comm.template create_shared_region<std::uint64_t>(1003);
    auto part = region.as_partition_span();
    for (auto& value : part) value = 1 + node->rank();
    region.fence();
    std::size_t written = 0;
    for (const auto value : region.as_span()) written += value > 0 && value <= node->size() ? 1 : 0;
    EXPECT_EQ(written, region.size());
    region.fence();
  });

  group.add("LeadersAreThoseWhoCanWrite", [](const C& comm) {
    const auto node = comm.split_local();
    auto region = comm.template create_shared_region<std::int32_t>(8);
    EXPECT_LT(node->rank(), node->size());
    EXPECT_LE(node->size(), comm.size());
    EXPECT_EQ(comm.is_leader(), node->rank() == 0);
    EXPECT_EQ(region.as_mut_span().size(), comm.is_leader() ? 8U : 0U);
    node->barrier();
  });

  group.add("EveryNodeHasOneLeader", [](const C& comm) {
    const auto node = comm.split_local();
    const auto leaders = comm.allreduce(comm.is_leader() ? 1 : 0, ReduceOp::Sum);
    // Each node counts once where every rank contributes its share of it.
    const auto nodes = comm.allreduce(1.0 / static_cast<double>(node->size()), ReduceOp::Sum);
    EXPECT_EQ(leaders, static_cast<int>(std::lround(nodes)));
  });

  group.add("ManyLiveSideBySideAndCanBeMadeAgain", [](const C& comm) {
    for (int round = 0; round < 3; ++round) {
      std::vector<decltype(comm.template create_shared_region<std::int32_t>(1))> regions;
      for (std::int32_t i = 0; i < 20; ++i) {
        regions.push_back(comm.template create_shared_region<std::int32_t>(static_cast<std::size_t>(i) + 1));
        if (comm.is_leader()) {
          for (auto& value : regions.back().as_mut_span()) value = i + round;
        }
      }
      for (auto& region : regions) region.fence();
      for (std::int32_t i = 0; i < 20; ++i) EXPECT_EQ(regions[static_cast<std::size_t>(i)].as_span().back(), i + round);
      for (auto& region : regions) region.fence();
    }
  });

  group.add("SurvivesBeingMovedAndHoldsStructs", [](const C& comm) {
    auto first = comm.template create_shared_region<Particle>(10);
    if (comm.is_leader()) first.as_mut_span()[9] = Make<Particle>::from(3);
    auto second = std::move(first);
    second.fence();
    EXPECT_EQ(second.as_span()[9], Make<Particle>::from(3));
    second.fence();
  });

  group.add("OfNothingIsLegal", [](const C& comm) {
    auto region = comm.template create_shared_region<double>(0);
    EXPECT_TRUE(region.as_span().empty());
    region.fence();
  });

  group.add("TakesWishesForItsPages", [](const C& comm) {
    cobre::comm::RegionOptions options;
    options.huge_pages = true;
    options.placement = cobre::comm::RegionOptions::Placement::Interleave;
    auto region = comm.template create_shared_region<double>(1 << 20, options);
    if (comm.is_leader()) region.as_mut_span().back() = 1.5;
    region.fence();
    EXPECT_EQ(region.as_span().back(), 1.5);
    EXPECT_EQ(region.as_span().front(), 0.0);
    region.fence();
  });

  group.add("ThatCannotBeHadIsAnErrorOnEveryRankAndTheCommunicatorStaysGood", [](const C& comm) {
    for (const std::size_t count : {std::numeric_limits<std::size_t>::max() / 2, std::size_t{1} << 45}) {
      try {
        auto region = comm.template create_shared_region<double>(count);
        ADD_FAILURE() << "got a region of " << count << " doubles";
      } catch (const cobre::comm::AllocationFailed& error) {
        EXPECT_GE(error.requested_bytes(), std::size_t{1} << 48);
        EXPECT_EQ(error.operation(), "create_shared_region");
      }
    }
    EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size()));
  });
}

}  // namespace conformance
