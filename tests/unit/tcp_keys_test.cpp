// What ranks prove by that they belong to a job.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "comm/backends/tcp/credential.hpp"
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

// Of what has come: rank 0 waits for MUNGE, and so asks it only about what may be one.
TEST(TcpCredential, IsReadWhereItLooksLikeOne) {
  const auto text = [](std::string_view said) {
    Credential credential;
    std::ranges::copy(said, credential.text.begin());
    credential.bytes = static_cast<std::uint32_t>(said.size());
    return text_of(credential);
  };
  for (const char* const said : {"MUNGE:AwQDAAD+/9z=:", "MUNGE:A:"}) {
    const auto read = text(said);
    ASSERT_TRUE(read) << said;
    EXPECT_STREQ(read->data(), said);
  }
  for (const std::string_view said : {"", "MUNGE", "MUNGE:", "MUNGE::", "MUNGE:AAAA", "munge:AAAA:", " MUNGE:AAAA:",
                                      "MUNGE:AA AA:", "MUNGE:AA:AA:", "MUNGE:AAAA:\n", "xxxxxxxxxxxx"}) {
    EXPECT_FALSE(text(said)) << said;
  }
  EXPECT_FALSE(text(std::string("MUNGE:AA\0A:", 11)));
  EXPECT_FALSE(text("MUNGE:" + std::string(sizeof(Credential::text) - 7, 'A') + ":")) << "no room for an end";
  EXPECT_TRUE(text("MUNGE:" + std::string(sizeof(Credential::text) - 8, 'A') + ":"));
  Credential endless;
  endless.bytes = 5000;
  EXPECT_FALSE(text_of(endless));
}

}  // namespace
