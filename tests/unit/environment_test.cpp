#include "comm/core/environment.hpp"

#include <cobre/comm/errors.hpp>

#include <gtest/gtest.h>

#include "comm/core/text.hpp"
#include "support/environment.hpp"

namespace {

using cobre::comm::InvalidConfiguration;
using cobre::comm::MissingConfiguration;
using cobre::comm::core::EnvironmentReader;

constexpr const char* variable = "COBRE_TEST_VARIABLE";

class Environment : public testing::Test {
 protected:
  test::ScopedEnvironment environment_;
  EnvironmentReader reader_{"shm"};
};

TEST_F(Environment, ReadsWholeNumbers) {
  for (const auto& [text, value] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"0", 0}, {"7", 7}, {"007", 7}, {"18446744073709551615", std::numeric_limits<std::uint64_t>::max()}}) {
    environment_.set(variable, text);
    EXPECT_EQ(reader_.number(variable, 0, std::numeric_limits<std::uint64_t>::max()), value);
  }
}

TEST_F(Environment, RefusesWhatIsNoWholeNumberAndQuotesIt) {
  for (const char* const text : {"", " 1", "1 ", "+1", "-1", "1.0", "0x10", "1e3", "abc", "1\n", "18446744073709551616",
                                 "99999999999999999999999", "\xff", "12\xc3"}) {
    environment_.set(variable, text);
    try {
      (void)reader_.number(variable, 0, std::numeric_limits<std::uint64_t>::max());
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const InvalidConfiguration& error) {
      EXPECT_EQ(error.value(), text);
      EXPECT_EQ(error.variable(), variable);
      EXPECT_EQ(error.backend(), "shm");
      EXPECT_NE(std::string(error.what()).find(cobre::comm::core::quoted(text)), std::string::npos) << error.what();
    }
  }
}

TEST_F(Environment, RefusesNumbersOutOfRange) {
  environment_.set(variable, "4");
  EXPECT_EQ(reader_.number(variable, 1, 4), 4U);
  EXPECT_THROW((void)reader_.number(variable, 1, 3), InvalidConfiguration);
  EXPECT_THROW((void)reader_.number(variable, 5, 9), InvalidConfiguration);
}

TEST_F(Environment, HasOneTimeoutForAllBackendsOfAYearAtMost) {
  environment_.unset("COBRE_COMM_TIMEOUT_SECS");
  EXPECT_EQ(reader_.timeout(), std::chrono::seconds(0));
  environment_.set("COBRE_COMM_TIMEOUT_SECS", "31622400");
  EXPECT_EQ(reader_.timeout(), std::chrono::hours(24 * 366));
  environment_.set("COBRE_COMM_TIMEOUT_SECS", "31622401");
  EXPECT_THROW((void)reader_.timeout(), InvalidConfiguration);
}

TEST_F(Environment, RefusesTextThatIsEmptyOrNotUtf8) {
  environment_.set(variable, "größe-1");
  EXPECT_EQ(reader_.text(variable), "größe-1");
  for (const char* const text : {"", "\xff\xfe", "a\nb", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x7f"}) {
    environment_.set(variable, text);
    EXPECT_THROW((void)reader_.text(variable), InvalidConfiguration);
  }
}

TEST_F(Environment, ReadsFlags) {
  environment_.set(variable, "1");
  EXPECT_EQ(reader_.flag(variable), true);
  environment_.set(variable, "0");
  EXPECT_EQ(reader_.flag(variable), false);
  environment_.set(variable, "yes");
  EXPECT_THROW((void)reader_.flag(variable), InvalidConfiguration);
}

TEST_F(Environment, AbsentIsNotEmpty) {
  environment_.unset(variable);
  EXPECT_FALSE(cobre::comm::core::is_set(variable));
  EXPECT_EQ(reader_.number(variable, 0, 9), std::nullopt);
  EXPECT_EQ(reader_.text(variable), std::nullopt);
  EXPECT_EQ(reader_.flag(variable), std::nullopt);
  environment_.set(variable, "");
  EXPECT_TRUE(cobre::comm::core::is_set(variable));
}

TEST_F(Environment, ReportsAllMissingVariablesTogether) {
  environment_.set("COBRE_TEST_B", "3");
  EXPECT_EQ(reader_.required_text("COBRE_TEST_A"), "");
  EXPECT_EQ(reader_.required_number("COBRE_TEST_B", 1, 9), 3U);
  EXPECT_EQ(reader_.required_number("COBRE_TEST_C", 1, 9), 1U);
  try {
    reader_.require_all();
    ADD_FAILURE();
  } catch (const MissingConfiguration& error) {
    EXPECT_EQ(error.missing_vars(), (std::vector<std::string>{"COBRE_TEST_A", "COBRE_TEST_C"}));
    EXPECT_EQ(error.backend(), "shm");
  }
}

TEST_F(Environment, IsSatisfiedWhenNothingIsMissing) {
  environment_.set("COBRE_TEST_A", "group");
  EXPECT_EQ(reader_.required_text("COBRE_TEST_A"), "group");
  reader_.require_all();
}

TEST(Text, LongValuesAreCutAndSayHowLongTheyWere) {
  const auto text = cobre::comm::core::quoted(std::string(200, 'x'));
  EXPECT_EQ(text.size(), 82 + std::string(" (cut: 200 characters in all)").size());
}

}  // namespace
