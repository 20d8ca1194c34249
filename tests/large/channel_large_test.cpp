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
TEST(LargeShmMessages, ArriveFromWhereTheyLieAndThroughThePipe) {
  for (const auto way : {cobre::comm::SingleCopy::Auto, cobre::comm::SingleCopy::Off}) {
    const auto configs = test::shm_configs(2, [=](auto& config) { config.single_copy = way; });
    test::expect_all_arrived(test::start_ranks(configs, exchange), 250s);
  }
}
#endif

#ifdef COBRE_COMM_HAS_TCP
TEST(LargeTcpMessages, ArriveWhole) {
  test::expect_all_arrived(test::start_ranks(test::tcp_configs(2), exchange), 250s);
}
#endif

}  // namespace
