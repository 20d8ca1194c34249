// A group whose memory the kernel would let rank 0 reserve, and would kill it for.

#include <gtest/gtest.h>

#include <cobre/comm/errors.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "support/control_groups.hpp"
#include "support/mounts.hpp"
#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::AllocationFailed;
using cobre::comm::ShmBackend;

// The segment takes a part of `segment_bytes` that grows with the ranks: of these, more than the limit by far. Rank 0
// makes it, so that only rank 0 need be limited.
TEST(ShmMemory, ThatTheLimitOfAContainerCannotHoldIsAllocationFailedOnEveryRank) {
  constexpr std::size_t size = 16;
  constexpr std::size_t limit = std::size_t{12} << 20;
  const test::MemoryGroup group(limit);
  ASSERT_TRUE(group.usable());
  const auto configs = test::shm_configs(size, [](auto& config) { config.segment_bytes = std::size_t{64} << 20; });
  std::vector<test::Process> ranks;
  for (const auto& config : configs) {
    ranks.emplace_back([&]() -> std::string {
      if (config.rank == 0) test::require(group.join(), "memory group");
      try {
        (void)ShmBackend::attach(config);
        return "it has more than there is";
      } catch (const AllocationFailed& error) {
        return error.requested_bytes() > limit ? error.what() : "it would have fitted";
      }
    });
  }
  for (std::size_t rank = 0; rank < size; ++rank) {
    const std::string words = ranks[rank].words();
    EXPECT_TRUE(words.starts_with("attach on rank " + std::to_string(rank) + " of 16: ")) << words;
    EXPECT_NE(words.find("could not be had: the memory limit of this container or job leaves "), std::string::npos)
        << words;
  }
  EXPECT_EQ(group.killed(), 0);
}

}  // namespace
