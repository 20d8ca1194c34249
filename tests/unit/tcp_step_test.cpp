// Jobs of one user, with one secret, at one port: in a Slurm step the step tells them apart.

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/backends/tcp/config.hpp"
#include "support/environment.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::TcpConfig;
using namespace std::chrono_literals;

using Changes = std::vector<std::array<std::string, 3>>;

// What Slurm says to the tasks of a step of two on this machine, whose ports an earlier one may have had.
class TcpStep : public testing::Test {
 protected:
  TcpStep() {
    for (const char* const name : {"SLURM_JOBID", "SLURM_STEPID", "COBRE_TCP_COORDINATOR"}) environment.unset(name);
    environment.set("SLURM_JOB_ID", "4711");
    environment.set("SLURM_STEP_ID", "0");
    environment.set("SLURM_STEP_NUM_TASKS", "2");
    environment.set("SLURM_STEP_NODELIST", test::loopback_of(test::unique_name()));
    environment.set("SLURM_STEP_RESV_PORTS", "23456-23457");
  }

  /// As that task finds it; `secret`: none means that the kernel tells who is who.
  TcpConfig task(std::size_t rank, const std::optional<std::string>& secret, std::chrono::milliseconds timeout = 20s) {
    environment.set("SLURM_PROCID", std::to_string(rank));
    if (secret) environment.set("COBRE_TCP_SECRET", *secret);
    TcpConfig config = TcpConfig::from_environment();
    config.munge = false;
    config.connect_timeout = timeout;
    return config;
  }

  test::ScopedEnvironment environment;
};

void expect_contains(const std::string& words, const std::string& part) {
  EXPECT_NE(words.find(part), std::string::npos) << words;
}

TEST_F(TcpStep, LetsNoRankOfAnEarlierStepTakeThePlaceOfATrueOneThoughItKnowsTheSecret) {
  const Changes changes{
      {"SLURM_STEP_ID", "0", "1"}, {"SLURM_JOB_ID", "4710", "4711"}, {"SLURM_RESTART_COUNT", "1", "2"}};
  for (const auto& [name, before, now] : changes) {
    environment.set(name, before);
    const TcpConfig earlier = task(1, "of all jobs", 600ms);
    environment.set(name, now);
    auto ranks = test::start_connecting({task(0, "of all jobs")});
    ranks[0].await_rest();
    auto stale = test::start_connecting({earlier});
    // It has knocked where the true one is still to come, in vain.
    expect_contains(stale[0].words(), "does not know the job's secret, or is a rank of another step of Slurm: do");
    ranks.push_back(std::move(test::start_connecting({task(1, "of all jobs")}).front()));
    for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine") << name;
  }
}

TEST_F(TcpStep, LetsNoRankOfAnEarlierStepTakeThePlaceOfATrueOneWhereThereIsNoSecret) {
  const TcpConfig earlier = task(1, {}, 600ms);
  environment.set("SLURM_STEP_ID", "1");
  auto ranks = test::start_connecting({task(0, {})});
  ranks[0].await_rest();
  auto stale = test::start_connecting({earlier});
  expect_contains(stale[0].words(), "a rank of another step of Slurm listens at");
  ranks.push_back(std::move(test::start_connecting({task(1, {})}).front()));
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

TEST_F(TcpStep, SaysWhereOnlyRanksOfAnotherStepCame) {
  const TcpConfig earlier = task(1, "of all jobs", 600ms);
  environment.set("SLURM_STEP_ID", "1");
  auto ranks = test::start_connecting({task(0, "of all jobs", 600ms), earlier});
  expect_contains(ranks[0].words(), "did not prove that they know the job's secret and belong to this step of Slurm,");
  EXPECT_NE(ranks[1].words(), "fine");
}

// Ranks may be started by several steps, or from outside of Slurm, where all of them are told where rank 0 is.
TEST_F(TcpStep, DoesNotMatterWhereTheUserSaysWhereRankZeroIs) {
  environment.set("COBRE_TCP_COORDINATOR", "127.0.0.1");
  environment.set("COBRE_TCP_RANK", "0");
  environment.set("COBRE_TCP_SIZE", "2");
  const TcpConfig one = task(0, "of all jobs");
  environment.set("SLURM_STEP_ID", "1");
  const TcpConfig other = task(0, "of all jobs");
  EXPECT_EQ(one.step, "");
  EXPECT_EQ(cobre::comm::tcp::job_key(one), cobre::comm::tcp::job_key(other));
}

}  // namespace
