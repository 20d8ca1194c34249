// A rank falls at every place of the library that was marked for it, in every operation, in every way; the others learn
// who, soon, and nothing is left. Then it falls at any moment at all.
//
// For each set-up a sample is drawn: one rank and one number of ranks for each place and way. The whole product, a case
// for each set-up, number of ranks and way, and a thousand random moments instead of a hundred, are there where
// COBRE_TEST_FULL is set.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "crash/pool.hpp"

namespace {

using crash::Action;
using crash::CrashPoint;
using crash::Plan;
using crash::Setup;

bool full() {
  return std::getenv("COBRE_TEST_FULL") != nullptr;
}

// Of two ranks that copy the same, the clock says who comes by here, and how often: no job after another one does.
constexpr const char* of_a_piece = "shm.piece_claimed";

/// Whether a job of so many ranks must come by.
bool concerns(Setup setup, std::size_t size, const CrashPoint& point) {
  const std::string name = point.name();
  if (name == of_a_piece) return false;
  // Only where ranks reach into the memory of others.
  const bool reaches =
      name.find("claim") != std::string::npos || name == "shm.parts_open" || name == "shm.about_to_help";
  if (reaches) return setup == Setup::Shm;
  const bool memory_of_a_host =
      name.starts_with("shm.join.") || name.starts_with("shm.coordinate.") || name.starts_with("shm.depart.");
  switch (setup) {
    case Setup::Shm:
    case Setup::ShmThroughBuffers: return name.starts_with("mail.") || name.starts_with("shm.");
    case Setup::Tcp: return name.starts_with("mail.") || name.starts_with("tcp.");
    case Setup::TcpSharingMemory: return memory_of_a_host;
    case Setup::TcpOnTwoHosts:
      return (memory_of_a_host && size > 2) || name.starts_with("mail.") || name.starts_with("tcp.");
  }
  return false;
}

const CrashPoint* point_of(const std::string& name) {
  const CrashPoint* point = CrashPoint::first();
  while (point != nullptr && point->name() != name) point = point->next();
  return point;
}

/// The places that a job comes by, from a job that nothing happens to.
std::vector<Plan> places(Setup setup, std::size_t size) {
  EXPECT_LT(crash::tear_down(), crash::Visits::most_steps);
  Plan plan;
  plan.setup = setup;
  plan.size = size;
  crash::Job job(plan);
  while (!job.advance()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(job.problems(), "");
  plan.measured = job.measured();
  std::vector<Plan> plans;
  for (plan.step = 0; plan.step <= crash::tear_down(); ++plan.step) {
    std::size_t number = 0;
    for (const CrashPoint* point = CrashPoint::first(); point != nullptr; point = point->next(), ++number) {
      if (std::string(point->name()) == of_a_piece) continue;
      plan.point = point;
      for (plan.victim = 0; plan.victim < size; ++plan.victim) {
        const std::uint32_t visits = job.board().visits.of[plan.victim][plan.step][number];
        plan.visit = 0;
        if (visits > 0) plans.push_back(plan);
        // How long something is measured is up to the clock: only the first few visits come again for certain.
        const bool measures = job.board().measured.in_step[plan.victim][plan.step];
        plan.visit = measures ? std::min(visits / 2, 2U) : visits / 2;
        if (visits > 1) plans.push_back(plan);
      }
    }
  }
  return plans;
}

/// One for each place and way, from all numbers of ranks and all ranks. Where tcp shares memory, on one host or two,
/// the places are those of shm and of tcp, which have their ways already: there, one for each place.
std::vector<Plan> sample(const std::vector<Plan>& plans) {
  std::mt19937 draw(4711);
  std::map<std::tuple<std::size_t, const CrashPoint*, Action>, std::vector<Plan>> by_place;
  for (const Plan& plan : plans) {
    const std::string step = crash::step_name(plan.step);
    const bool both = plan.setup == Setup::TcpSharingMemory || plan.setup == Setup::TcpOnTwoHosts;
    // Through buffers only what is long goes another way; between hosts it goes the same way as what is short.
    const bool the_same =
        plan.setup == Setup::ShmThroughBuffers
            ? !step.starts_with("large")
            : plan.setup == Setup::TcpOnTwoHosts && (step.starts_with("large") || step.starts_with("tiny"));
    if (!the_same) by_place[{plan.step, plan.point, both ? Action::None : plan.action}].push_back(plan);
  }
  std::vector<Plan> chosen;
  for (const auto& [place, candidates] : by_place) chosen.push_back(candidates[draw() % candidates.size()]);
  return chosen;
}

constexpr Setup all_setups[] = {Setup::Shm, Setup::ShmThroughBuffers, Setup::Tcp, Setup::TcpSharingMemory,
                                Setup::TcpOnTwoHosts};
constexpr std::pair<Action, const char*> named_ways[] = {
    {Action::Kill, "Killed"}, {Action::StopAndGoOn, "Stopped"}, {Action::Exit, "Exiting"}, {Action::Throw, "Throwing"}};

/// What a case is about.
struct Share {
  Setup setup = Setup::Shm;
  std::vector<std::size_t> sizes;
  std::vector<Action> ways;
  std::string name;
};
void PrintTo(const Share& share, std::ostream* out) {
  *out << share.name;
}

std::string name_of(Setup setup) {
  constexpr const char* names[] = {"Shm", "ShmThroughBuffers", "Tcp", "TcpSharingMemory", "TcpOnTwoHosts"};
  return names[static_cast<std::size_t>(setup)];
}

/// Each set-up is one share of the sample, and sixteen of the product.
std::vector<Share> shares() {
  std::vector<Share> all;
  for (const Setup setup : all_setups) {
    Share sample{setup, {2, 3, 4, 5}, {}, name_of(setup)};
    for (const auto& [way, name] : named_ways) sample.ways.push_back(way);
    if (!full()) {
      all.push_back(sample);
      continue;
    }
    for (const std::size_t size : sample.sizes) {
      for (const auto& [way, name] : named_ways) {
        all.push_back({setup, {size}, {way}, name_of(setup) + "Of" + std::to_string(size) + name});
      }
    }
  }
  return all;
}

class CrashPoints : public testing::TestWithParam<Share> {};

TEST_P(CrashPoints, AreNamedByEveryoneElseAndLeaveNothing) {
  const Share& share = GetParam();
  std::vector<Plan> plans;
  for (const std::size_t size : share.sizes) {
    for (Plan plan : places(share.setup, size)) {
      for (const Action way : share.ways) {
        plan.action = way;
        plans.push_back(plan);
      }
    }
  }
  if (!full()) plans = sample(plans);
  const crash::Tally tally = crash::run_all(plans);
  tally.print(share.name);
  for (std::size_t i = 0; i < tally.problems.size() && i < 20; ++i) ADD_FAILURE() << tally.problems[i];
  if (!full() && share.setup == Setup::ShmThroughBuffers) return;  // the sample is of what is long
  for (const CrashPoint* point = CrashPoint::first(); point != nullptr; point = point->next()) {
    if (concerns(share.setup, share.sizes.back(), *point))
      EXPECT_TRUE(tally.points.contains(point->name())) << point->name();
  }
}

// The kernel closes what a process has open before it reports the process ended, and between the two it may be a while;
// and one that throws while it gathers the others may live on.
TEST(CrashPoints, OfRankZeroThatIsSlowToEndAreNamedByThoseWhoCameAndThoseWhoDidNot) {
  std::vector<Plan> plans;
  for (const std::size_t size : {std::size_t{3}, crash::most_ranks}) {
    for (Plan plan : places(Setup::Shm, size)) {
      if (plan.step != 0 || !std::string(plan.point->name()).starts_with("shm.coordinate.")) continue;
      for (const Action way : {Action::ExitInSteps, Action::ThrowAndStay}) {
        plan.action = way;
        plans.push_back(plan);
      }
    }
  }
  ASSERT_GE(plans.size(), 20U);
  const crash::Tally tally = crash::run_all(plans);
  for (const std::string& problem : tally.problems) ADD_FAILURE() << problem;
}

// Both ends copy what is gathered or scattered. Here the taker lets the giver come first, which then dies over a piece
// of the taker's memory that it has claimed, or is stopped there. Nobody may throw there.
TEST(CrashPoints, OfAGiverOverAPieceThatItHasClaimedAreNamedByTheTaker) {
  std::vector<Plan> plans;
  for (std::size_t size = 2; size <= crash::most_ranks; ++size) {
    const std::vector<Plan> others = places(Setup::Shm, size);
    const auto gathers = std::ranges::find_if(
        others, [](const Plan& plan) { return crash::step_name(plan.step) == "large gather and scatter"; });
    ASSERT_NE(gathers, others.end());
    for (Plan plan = *gathers; const Action way : {Action::Kill, Action::StopAndGoOn, Action::Exit}) {
      plan.point = point_of(of_a_piece);
      plan.action = way;
      for (plan.victim = 0; plan.victim < size; ++plan.victim) {  // the last one gives what is scattered
        for (plan.visit = 0; plan.visit < 2; ++plan.visit) plans.push_back(plan);
      }
    }
  }
  const crash::Tally tally = crash::run_all(plans);
  tally.print("pieces");
  for (const std::string& problem : tally.problems) ADD_FAILURE() << problem;
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
    plan.once_begun = i % 4 != 0;  // how long it takes to come together is the machine's choice
    plans.push_back(plan);
  }
  const crash::Tally tally = crash::run_all(plans);
  tally.print(std::string("random kills, ") + crash::to_string(GetParam()));
  EXPECT_GE(tally.in_program * 4, plans.size() * 3);
  // All over the program, of which some operations take far longer than others.
  EXPECT_GE(tally.steps.size() * 3, crash::steps().size());
  for (std::size_t i = 0; i < tally.problems.size() && i < 20; ++i) ADD_FAILURE() << tally.problems[i];
}

INSTANTIATE_TEST_SUITE_P(All, CrashPoints, testing::ValuesIn(shares()),
                         [](const testing::TestParamInfo<Share>& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(All, RandomKills, testing::ValuesIn(all_setups),
                         [](const testing::TestParamInfo<Setup>& info) { return name_of(info.param); });

}  // namespace
