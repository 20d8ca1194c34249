// MUNGE in the place of a secret, by a real munged.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <munge.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/backends/tcp/credential.hpp"
#include "support/environment.hpp"
#include "support/mounts.hpp"
#include "support/tcp_ranks.hpp"
#include "unit/tcp_visits.hpp"

namespace {

int credentials_to_refuse = 0;  // that this process, and those that it starts, ask for next

// How often this process, and those that it starts, have asked MUNGE to read something.
std::atomic<int>& readings() {
  static const test::Shared<std::atomic<int>> count;
  return *count;
}

}  // namespace

// MUNGE, when it hiccups.
munge_err_t munge_encode(char** text, munge_ctx_t context, const void* payload, int length) {
  if (credentials_to_refuse > 0) {
    --credentials_to_refuse;
    *text = nullptr;
    return EMUNGE_SOCKET;
  }
  static const auto real = reinterpret_cast<decltype(&munge_encode)>(dlsym(RTLD_NEXT, "munge_encode"));
  return real(text, context, payload, length);
}

munge_err_t munge_decode(const char* text, munge_ctx_t context, void** payload, int* length, uid_t* user,
                         gid_t* group) {
  ++readings();
  static const auto real = reinterpret_cast<decltype(&munge_decode)>(dlsym(RTLD_NEXT, "munge_decode"));
  return real(text, context, payload, length, user, group);
}

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
    daemon.emplace([]() -> std::string {
      execlp("runuser", "runuser", "-u", "munge", "--", "munged", "--foreground", "--force", nullptr);
      return "cannot be started";
    });
    ASSERT_TRUE(test::eventually([] { return runs(); })) << daemon->words();
  }
  static void TearDownTestSuite() {
    daemon->signal(SIGTERM);
    (void)daemon->await_end();
    daemon.reset();
  }

  inline static std::optional<test::Process> daemon;
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

// Who speaks to MUNGE without this library, and so need not keep to what it would do.
constexpr uid_t somebody_else = 65534;

test::Process as_somebody_else(const std::function<std::string()>& body) {
  return test::Process([&]() -> std::string { return setuid(somebody_else) == 0 ? body() : "still root"; });
}

TEST_F(TcpMunge, DoesNotVouchForAnotherUserWhoeverThatOneWroteItFor) {
  const Bytes32 secret = random_bytes();
  auto writer = as_somebody_else([&]() -> std::string {
    char* text = nullptr;
    const munge_err_t error = munge_encode(&text, nullptr, secret.data(), static_cast<int>(secret.size()));
    return error == EMUNGE_SUCCESS ? text : munge_strerror(error);
  });
  const std::string text = writer.words();
  Credential credential;
  ASSERT_LT(text.size(), credential.text.size());
  ASSERT_EQ(text.substr(0, 6), "MUNGE:") << text;
  std::ranges::copy(text, credential.text.begin());
  credential.bytes = static_cast<std::uint32_t>(text.size());
  EXPECT_FALSE(read_credential(credential));
}

TEST_F(TcpMunge, LetsNobodyElseReadWhatAProcessWrote) {
  const Credential credential = write_credential(random_bytes());
  auto reader = as_somebody_else([&]() -> std::string {
    const std::string text(credential.text.data(), credential.bytes);
    void* payload = nullptr;
    int length = 0;
    return munge_strerror(munge_decode(text.c_str(), nullptr, &payload, &length, nullptr, nullptr));
  });
  EXPECT_EQ(reader.words(), munge_strerror(EMUNGE_CRED_UNAUTHORIZED));
  EXPECT_TRUE(read_credential(credential)) << "it was readable";
}

TEST_F(TcpMunge, StandsInForTheSecretOfAJob) {
  auto ranks = test::start_connecting(test::tcp_configs(3, [](auto& config) {
    config.secret = {};
    config.munge = true;
  }));
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

std::vector<cobre::comm::TcpConfig> vouched_configs(std::size_t size, std::chrono::milliseconds timeout) {
  return test::tcp_configs(size, [&](auto& config) {
    config.secret = {};
    config.munge = true;
    config.connect_timeout = timeout;
  });
}

void expect_contains(const std::string& words, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(words.find(part), std::string::npos) << words;
}

// Slurm gives the ports of an ended step to the next one, and a rank that did not hear of the end still knocks there.
TEST_F(TcpMunge, LetsNoRankOfAnEarlierStepTakeThePlaceOfATrueOne) {
  const auto configs = vouched_configs(2, 20s);
  auto stale_config = configs[1];
  stale_config.connect_timeout = 2s;
  test::ScopedEnvironment environment;
  environment.set("SLURM_JOB_ID", "4711");
  const std::vector<std::array<std::string, 3>> changes{
      {"SLURM_STEP_ID", "0", "1"}, {"SLURM_JOB_ID", "4710", "4711"}, {"SLURM_RESTART_COUNT", "1", "2"}};
  for (const auto& [name, before, now] : changes) {
    environment.set(name, before);
    auto stale = test::start_connecting({stale_config});
    environment.set(name, now);
    auto ranks = test::start_connecting({configs[0]});
    // It has knocked where the true one is still to come, in vain.
    expect_contains(stale[0].words(),
                    {"rank 1 of 2 waited 2000 ms for rank 0", "a rank of another step of Slurm listens"});
    ranks.push_back(std::move(test::start_connecting({configs[1]}).front()));
    for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine") << name;
  }
}

TEST_F(TcpMunge, SaysWhereOnlyRanksOfAnotherStepCame) {
  const auto configs = vouched_configs(2, 700ms);
  test::ScopedEnvironment environment;
  environment.set("SLURM_JOB_ID", "4711");
  environment.set("SLURM_STEP_ID", "0");
  auto stale = test::start_connecting({configs[1]});
  environment.set("SLURM_STEP_ID", "1");
  auto rank_zero = test::start_connecting({configs[0]});
  expect_contains(rank_zero[0].words(), {"rank 1 did not come", "did not prove that they belong to this step"});
  EXPECT_NE(stale[0].words(), "fine");
}

// A rank 0 that asked MUNGE about each of them would have no time for its ranks.
TEST_F(TcpMunge, IsNotAskedAboutNonsense) {
  const auto configs = vouched_configs(2, 20s);
  readings() = 0;
  auto ranks = test::start_connecting({configs[0]});
  const Credential true_one = write_credential(random_bytes());
  for (int i = 0; i < 200; ++i) {
    Credential frame = true_one;
    if (i % 4 == 0) std::ranges::fill(frame.text, 'x');
    if (i % 4 == 1) frame.text[0] = 'm';
    if (i % 4 == 2) frame.text[frame.bytes / 2] = '\0';
    if (i % 4 == 3) frame.text[--frame.bytes] = '\0';
    const auto socket = test::knock(test::coordinator_address(configs[0]));
    ASSERT_TRUE(send_all(socket.get(), std::as_bytes(std::span(&frame, 1)), Clock::now() + 5s));
    EXPECT_EQ(test::all_that_comes(socket.get(), 5s), "");
  }
  EXPECT_EQ(readings(), 0);
  ranks.push_back(std::move(test::start_connecting({configs[1]}).front()));
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
  EXPECT_GE(readings(), 2) << "one by each rank";
}

TEST_F(TcpMunge, OfOneStepLetsItsRanksIn) {
  test::ScopedEnvironment environment;
  environment.set("SLURM_JOB_ID", "4711");
  environment.set("SLURM_STEP_ID", "3");
  auto ranks = test::start_connecting(vouched_configs(3, 20s));
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

TEST_F(TcpMunge, ThatFailsOnceAtRankZeroEndsNoJob) {
  const auto configs = vouched_configs(3, 20s);
  credentials_to_refuse = 2;
  auto ranks = test::start_connecting({configs[0]});
  credentials_to_refuse = 0;
  for (auto& rank : test::start_connecting({configs[1], configs[2]})) ranks.push_back(std::move(rank));
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

TEST_F(TcpMunge, ThatFailsAtRankZeroAgainAndAgainIsSaid) {
  const auto configs = vouched_configs(2, 700ms);
  credentials_to_refuse = 1'000'000;
  auto rank_zero = test::start_connecting({configs[0]});
  credentials_to_refuse = 0;
  auto rank = test::start_connecting({configs[1]});
  expect_contains(rank_zero[0].words(), {"rank 1 did not come", "MUNGE did not vouch for rank 0 when some came"});
  EXPECT_NE(rank[0].words(), "fine");
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
