// The doors that ranks open for their parts, and ranks that say of them what cannot be.

#include <gtest/gtest.h>

#include <cobre/comm/detail/division.hpp>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "comm/backends/tcp/endpoint.hpp"
#include "comm/backends/tcp/part_doors.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;

Address::Wire door(std::uint8_t last_byte, std::uint16_t port, std::uint32_t interface) {
  Address::Wire wire{.family = 6, .port = port, .scope = interface, .bytes = {0xfe, 0x80}};
  wire.bytes.back() = last_byte;
  return wire;
}

TEST(TcpPartDoors, AreAsManyAsARankCanHave) {
  constexpr std::size_t most = largest_job - 1;
  EXPECT_EQ(who_claims_too_many(std::vector<std::size_t>{1, 0, most}), std::nullopt);
  EXPECT_EQ(who_claims_too_many(std::vector<std::size_t>{1, most + 1, most + 2}), 1U);
  EXPECT_EQ(who_claims_too_many(std::vector<std::size_t>{2, ~std::size_t{0}}), 1U);
}

TEST(TcpPartDoors, AreReachedByTheAddressAndTheInterfaceThatThisRankKnows) {
  const auto found = door_among({door(1, 4000, 2), door(2, 4001, 3)}, door(2, 29500, 7));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->port, 4001);
  EXPECT_EQ(found->scope, 7U);
  EXPECT_EQ(found->bytes.back(), 2);
}

TEST(TcpPartDoors, AtAnyAddressAreReachedByTheOneThatIsKnown) {
  const auto found = door_among({{.family = 6, .port = 4000, .scope = 0, .bytes = {}}}, door(2, 29500, 7));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->port, 4000);
  EXPECT_EQ(found->bytes.back(), 2);
  EXPECT_FALSE(door_among({}, door(2, 29500, 7)));
  EXPECT_FALSE(door_among({door(3, 1, 1), door(4, 1, 1)}, door(2, 29500, 7)));
}

// Added up, the first of these is as many as fit; the second is more than any memory.
class TcpDoorsOfALiar : public testing::TestWithParam<std::size_t> {};

TEST_P(TcpDoorsOfALiar, AreNotBelieved) {
  const auto configs = test::tcp_configs(3);
  std::vector<test::Process> ranks;
  for (const TcpConfig& config : configs) {
    ranks.emplace_back([&]() -> std::string {
      const auto whole = std::make_shared<Endpoint>(config);
      const detail::OperationRecord record{.operation = detail::Operation::Split};
      return test::outcome_of([&] {
        if (config.rank != 1) {
          const std::vector<detail::Seat> together(3, detail::Seat{0, 0});
          (void)Endpoint::split(whole, detail::divide({"split", config.rank, config.size}, record, together));
          return;
        }
        const std::size_t doors = GetParam();
        std::vector<std::size_t> of_all(3);
        const std::vector<std::size_t> ones(3, 1);
        const std::vector<std::size_t> displs{0, 1, 2};
        whole->execute(record, detail::AllgathervCall{&doors, of_all.data(), ones, displs, sizeof doors});
        whole->agree({});
      });
    });
  }
  const std::string refused = "rank 1 says that it has " + std::to_string(GetParam()) + " open doors";
  bool anyone_said_so = false;
  for (const std::size_t rank : {0U, 2U}) {
    const std::string words = ranks[rank].words();
    const bool said_so = words.find(refused) != std::string::npos;
    anyone_said_so = anyone_said_so || said_so;
    // The other one may hear of it before it has all lengths.
    EXPECT_TRUE(said_so || words == "PeerFailed 1") << "rank " << rank << ": " << words;
  }
  EXPECT_TRUE(anyone_said_so);
  EXPECT_EQ(ranks[1].words(), "PeerFailed 1");
}

INSTANTIATE_TEST_SUITE_P(Of, TcpDoorsOfALiar, testing::Values(~std::size_t{0}, std::size_t{1} << 40, largest_job));

}  // namespace
