// Messages that 32 bits do not count: opt-in, because they need nine gigabytes of memory.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include "support/long_messages.hpp"
#ifdef COBRE_COMM_HAS_SHM
#include "support/shm_ranks.hpp"
#endif
#ifdef COBRE_COMM_HAS_TCP
#include "support/tcp_ranks.hpp"
#endif

namespace {

using namespace std::chrono_literals;

constexpr std::size_t beyond_int = (std::size_t{1} << 31) + 12345;
constexpr std::size_t beyond_unsigned = (std::size_t{1} << 32) + 12345;
constexpr auto exchange = [](const auto& comm) { return test::every_long_message(comm, beyond_int, beyond_unsigned); };

#ifdef COBRE_COMM_HAS_SHM
void expect_on_shm(cobre::comm::SingleCopy single_copy) {
  auto ranks =
      test::start_ranks(test::shm_configs(2, [=](auto& config) { config.single_copy = single_copy; }), exchange);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(250s), test::all_arrived);
}
TEST(LargeShmMessages, ArriveFromWhereTheyLie) {
  expect_on_shm(cobre::comm::SingleCopy::Auto);
}
TEST(LargeShmMessages, ArriveThroughThePipe) {
  expect_on_shm(cobre::comm::SingleCopy::Off);
}
#endif

#ifdef COBRE_COMM_HAS_TCP
TEST(LargeTcpMessages, ArriveWhole) {
  auto ranks = test::start_ranks(test::tcp_configs(2), exchange);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(250s), test::all_arrived);
}
#endif

}  // namespace
