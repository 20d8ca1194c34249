// MUNGE in the place of a secret, by a real munged.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "comm/backends/tcp/credential.hpp"
#include "support/mounts.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using namespace cobre::comm::tcp;
using namespace std::chrono_literals;

// One for the length of the test, as the user that the package made for it, and seen by nobody else: MPI jobs that
// start beside this test would take to MUNGE where they find it, and hang when it goes.
class TcpMunge : public testing::Test {
 protected:
  static bool runs() { return std::system("munge -n </dev/null >/dev/null 2>&1") == 0; }

  static void SetUpTestSuite() {
    test::with_own_mounts();
    // All of /run, so that nothing is made in that of the machine.
    test::require(mount("tmpfs", "/run", "tmpfs", 0, "mode=755") == 0, "a place for the socket of MUNGE");
    ASSERT_EQ(std::system("mkdir /run/munge && chown munge:munge /run/munge"), 0);
  }

  void SetUp() override {
    daemon_.emplace([]() -> std::string {
      execlp("runuser", "runuser", "-u", "munge", "--", "munged", "--foreground", "--force", nullptr);
      return "cannot be started";
    });
    ASSERT_TRUE(test::eventually([] { return runs(); })) << daemon_->words();
  }
  void TearDown() override {
    daemon_->signal(SIGTERM);
    (void)daemon_->await_end();
  }

 private:
  std::optional<test::Process> daemon_;
};

TEST_F(TcpMunge, CarriesASecretOnceBetweenProcessesOfOneUser) {
  const Bytes32 secret = random_bytes();
  Credential credential = write_credential(secret);
  Credential forged = credential;
  forged.text[forged.bytes / 2] ^= 1;
  EXPECT_FALSE(read_credential(forged));
  EXPECT_EQ(read_credential(credential), secret);
  EXPECT_FALSE(read_credential(credential)) << "read twice";
  EXPECT_FALSE(read_credential(Credential{}));
  credential.bytes = 5000;
  EXPECT_FALSE(read_credential(credential));
}

TEST_F(TcpMunge, StandsInForTheSecretOfAJob) {
  auto ranks = test::start_connecting(test::tcp_configs(3, [](auto& config) {
    config.secret = {};
    config.munge = true;
  }));
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

TEST_F(TcpMunge, KeepsOutWhoOnlyKnowsThatThereIsNoSecret) {
  auto configs = test::tcp_configs(2, [](auto& config) {
    config.secret = {};
    config.connect_timeout = 500ms;
  });
  configs[0].munge = true;
  auto ranks = test::start_connecting(configs);
  EXPECT_NE(ranks[0].words().find("rank 1 did not come"), std::string::npos);
  EXPECT_NE(ranks[1].words().find("never came"), std::string::npos);
}

}  // namespace
