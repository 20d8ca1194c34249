// What ranks prove by that they belong to a job.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "comm/backends/tcp/keys.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;

TEST(TcpKeys, AreHmacSha256) {
  // RFC 4231, test case 2, with the key padded to 32 bytes, which HMAC does not tell apart.
  Key key{};
  std::ranges::copy(std::string_view("Jefe"), key.begin());
  const Mac mac = authenticate(key, {label("what do ya want "), label("for nothing?")});
  const Mac expected{0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7,
                     0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
  EXPECT_EQ(mac, expected);
  EXPECT_TRUE(same(mac, expected));
  EXPECT_NE(random_bytes(), random_bytes());
}

}  // namespace
