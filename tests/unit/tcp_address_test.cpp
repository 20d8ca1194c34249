// Addresses as users write them, and as ranks tell them each other.

#include <gtest/gtest.h>

#include <cstdint>

#include "comm/backends/tcp/address.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;

TEST(TcpAddress, IsReadAsHostHostAndPortOrBracketedIpv6) {
  EXPECT_EQ(parse_host_and_port("node1"), (HostAndPort{"node1", {}}));
  EXPECT_EQ(parse_host_and_port("node1:4000"), (HostAndPort{"node1", 4000}));
  EXPECT_EQ(parse_host_and_port("10.0.0.1:29500"), (HostAndPort{"10.0.0.1", 29500}));
  EXPECT_EQ(parse_host_and_port("::1"), (HostAndPort{"::1", {}}));
  EXPECT_EQ(parse_host_and_port("[::1]"), (HostAndPort{"::1", {}}));
  EXPECT_EQ(parse_host_and_port("[fe80::1%eth0]:5"), (HostAndPort{"fe80::1%eth0", 5}));
}

TEST(TcpAddress, IsRefusedWhereItMeansNothing) {
  for (const char* const text : {"", ":", ":80", "host:", "host:0", "host:65536", "host:8x", "host:-1", "[::1", "[]:1",
                                 "[node]:1", "[::1]80", "a b", "a/b", "host:80:90x y"}) {
    EXPECT_FALSE(parse_host_and_port(text)) << text;
  }
}

TEST(TcpAddress, SurvivesTheWire) {
  for (const char* const host : {"127.0.0.1", "::1"}) {
    const auto found = resolve(host, 1234);
    ASSERT_FALSE(found.addresses.empty()) << found.problem;
    const auto again = Address::from_wire(found.addresses.front().to_wire());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->text(), found.addresses.front().text());
    EXPECT_TRUE(again->is_loopback());
  }
  EXPECT_FALSE(Address::from_wire({}));
  EXPECT_FALSE(Address::from_wire({.family = 5, .port = 1, .scope = 0, .bytes = {}}));
}

TEST(TcpAddress, ThatNeedsAnInterfaceGetsThatOfWhoHearsOfIt) {
  const auto said = [](std::uint8_t second_byte) {
    return Address::Wire{.family = 6, .port = 1, .scope = 3, .bytes = {0xfe, second_byte}};
  };
  const Address here = Address::from_wire({.family = 6, .port = 2, .scope = 7, .bytes = {0xfe, 0x80}}).value();
  EXPECT_EQ(Address::as_seen_from(here, said(0x80)).scope, 7U);
  EXPECT_EQ(Address::as_seen_from(here, said(0xbf)).scope, 7U);
  EXPECT_EQ(Address::as_seen_from(here, said(0xc0)).scope, 0U) << "not link-local";
  EXPECT_EQ(Address::as_seen_from(Address(), said(0x80)).scope, 0U);
  EXPECT_EQ(Address::as_seen_from(here, said(0x80)).port, 1);
}

}  // namespace
