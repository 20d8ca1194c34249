// Regions of ranks that talk over TCP: those of one host share one set of pages.

#include <gtest/gtest.h>

#include "support/region_pages.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using test::TcpBackend;
using test::TcpConfig;

TEST(TcpRegion, OfAQuarterGigabyteOnFourRanksOfOneHostCostsAQuarterGigabyte) {
  const auto configs = test::tcp_configs(4, [](TcpConfig& config) { config.shared_memory = true; });
  auto ranks = test::start_ranks(configs, test::cost_of_a_quarter_gigabyte<TcpBackend>);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "256 MB");
}

}  // namespace
