// A rank falls at every place of the library that was marked for it, in every operation, in every way; the others learn
// who, soon, and nothing is left. Then it falls at any moment at all.
//
// The whole product runs where COBRE_TEST_FULL is set; otherwise one rank and one number of ranks for each place.

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "crash/pool.hpp"

namespace {

using crash::Action;
using crash::CrashPoint;
using crash::Plan;
using crash::Setup;

bool full() {
  return std::getenv("COBRE_TEST_FULL") != nullptr;
}

bool concerns(Setup setup, const CrashPoint& point) {
  const std::string name = point.name();
  if (setup == Setup::TcpOnOneHost) return name.starts_with("shm.join.") || name.starts_with("shm.coordinate.");
  if (name.find("claim") != std::string::npos) return setup == Setup::Shm;  // who writes into others' memory
  return name.starts_with("mail.") || name.starts_with(setup == Setup::Tcp ? "tcp." : "shm.");
}

/// The places that a job comes by, from a job that nothing happens to.
std::vector<Plan> places(Setup setup, std::size_t size) {
  Plan plan;
  plan.setup = setup;
  plan.size = size;
  crash::Job job(plan);
  while (!job.advance()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(job.problems(), "");
  std::vector<Plan> plans;
  for (plan.step = 0; plan.step <= crash::tear_down(); ++plan.step) {
    std::size_t number = 0;
    for (const CrashPoint* point = CrashPoint::first(); point != nullptr; point = point->next(), ++number) {
      plan.point = point;
      for (plan.victim = 0; plan.victim < size; ++plan.victim) {
        const std::uint32_t visits = job.board().visits.of[plan.victim][plan.step][number];
        plan.visit = 0;
        if (visits > 0) plans.push_back(plan);
        plan.visit = visits / 2;
        if (visits > 1) plans.push_back(plan);
      }
    }
  }
  return plans;
}

/// One for each place and way, from all numbers of ranks and all ranks.
std::vector<Plan> sample(const std::vector<Plan>& plans) {
  std::mt19937 draw(4711);
  std::map<std::tuple<std::size_t, const CrashPoint*, Action>, std::vector<Plan>> by_place;
  for (const Plan& plan : plans) {
    // Through buffers only what is long goes another way.
    const bool the_same = plan.setup == Setup::ShmThroughBuffers && !crash::step_name(plan.step).starts_with("large");
    if (!the_same) by_place[{plan.step, plan.point, plan.action}].push_back(plan);
  }
  std::vector<Plan> chosen;
  for (const auto& [place, candidates] : by_place) chosen.push_back(candidates[draw() % candidates.size()]);
  return chosen;
}

class CrashPoints : public testing::TestWithParam<Setup> {};

TEST_P(CrashPoints, AreNamedByEveryoneElseAndLeaveNothing) {
  std::vector<Plan> plans;
  for (std::size_t size = 2; size <= crash::most_ranks; ++size) {
    for (Plan plan : places(GetParam(), size)) {
      // What they do once they are all in shared memory is the first setup.
      if (GetParam() == Setup::TcpOnOneHost && plan.step > 0) continue;
      for (const Action action : {Action::Kill, Action::StopAndGoOn, Action::Exit, Action::Throw}) {
        plan.action = action;
        plans.push_back(plan);
      }
    }
  }
  if (!full()) plans = sample(plans);
  const crash::Tally tally = crash::run_all(plans);
  tally.print(crash::to_string(GetParam()));
  for (std::size_t i = 0; i < tally.problems.size() && i < 20; ++i) ADD_FAILURE() << tally.problems[i];
  // How often a place is visited may depend on who is late, so a later visit may not come. Most do.
  EXPECT_LE(tally.missed * 4, tally.jobs);
  for (const CrashPoint* point = CrashPoint::first(); point != nullptr; point = point->next()) {
    if (concerns(GetParam(), *point) && (full() || GetParam() != Setup::ShmThroughBuffers))
      EXPECT_TRUE(tally.points.contains(point->name())) << point->name();
  }
}

class RandomKills : public testing::TestWithParam<Setup> {};

TEST_P(RandomKills, AreNamedByEveryoneElseAndLeaveNothing) {
  std::mt19937 draw(2026);
  std::vector<Plan> plans;
  for (int i = 0; i < (full() ? 1000 : 100); ++i) {
    Plan plan;
    plan.setup = GetParam();
    plan.size = 2 + draw() % (crash::most_ranks - 1);
    plan.victim = draw() % plan.size;
    plan.action = Action::KillFromOutside;
    plan.delay = std::chrono::microseconds(draw() % 60'000);
    plans.push_back(plan);
  }
  const crash::Tally tally = crash::run_all(plans);
  tally.print(std::string("random kills, ") + crash::to_string(GetParam()));
  for (std::size_t i = 0; i < tally.problems.size() && i < 20; ++i) ADD_FAILURE() << tally.problems[i];
}

std::string name_of(const testing::TestParamInfo<Setup>& info) {
  constexpr const char* names[] = {"Shm", "ShmThroughBuffers", "Tcp", "TcpOnOneHost"};
  return names[static_cast<std::size_t>(info.param)];
}
const auto setups = testing::Values(Setup::Shm, Setup::ShmThroughBuffers, Setup::Tcp, Setup::TcpOnOneHost);
INSTANTIATE_TEST_SUITE_P(AllSetups, CrashPoints, setups, name_of);
INSTANTIATE_TEST_SUITE_P(AllSetups, RandomKills, setups, name_of);

}  // namespace
