// Who is named of the ranks that a launcher of MPI has started, and when nobody is.

#include "run/suspects.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <vector>

namespace cobre::command {
namespace {

using Kind = Finding::Kind;

Suspect ended(std::size_t place, int code, int signal = 0) {
  return {.place = place, .gone = true, .ending = Ending{.code = code, .signal = signal}};
}

Suspect killed(std::size_t place, int signal = SIGKILL) {
  return ended(place, 0, signal);
}

const Suspect alive{};

TEST(Suspects, NobodyIsNamedWhileAllIsWell) {
  EXPECT_EQ(find_culprit(std::vector{alive, ended(0, 0), alive}, true).kind, Kind::Well);
}

TEST(Suspects, OfThoseThatWereKilledTheFirstIsNamedAtOnce) {
  const Finding finding = find_culprit(std::vector{killed(2), killed(0), killed(1)}, false);
  EXPECT_EQ(finding.kind, Kind::Known);
  EXPECT_EQ(finding.rank, 1U);
}

TEST(Suspects, OneThatEndedWellIsNotNamedThoughItWasTheFirst) {
  const Finding finding = find_culprit(std::vector{ended(0, 0), alive, killed(1, SIGSEGV)}, false);
  EXPECT_EQ(finding.kind, Kind::Known);
  EXPECT_EQ(finding.rank, 2U);
}

TEST(Suspects, OneThatBeganToEndIsWaitedFor) {
  const Suspect ending{.place = 0};
  EXPECT_EQ(find_culprit(std::vector{ending, killed(1)}, true).kind, Kind::Unclear);
}

TEST(Suspects, WhereTheFirstEndedInAWayThatNobodyKnowsNoneIsNamed) {
  const Suspect unknown{.place = 0, .gone = true};
  EXPECT_EQ(find_culprit(std::vector{unknown, killed(1)}, true).kind, Kind::Unknowable);
}

TEST(Suspects, ACodeIsBelievedWhereNoOtherFollows) {
  EXPECT_EQ(find_culprit(std::vector{alive, ended(0, 3), alive}, false).kind, Kind::Unclear);
  EXPECT_EQ(find_culprit(std::vector{alive, ended(0, 3), ended(1, 3)}, true).kind, Kind::Unknowable);
  for (const bool settled : {false, true}) {
    const Finding finding = find_culprit(std::vector{killed(1), ended(0, 3), settled ? alive : ended(2, 0)}, settled);
    EXPECT_EQ(finding.kind, Kind::Known) << "after some time, or where nobody is left";
    EXPECT_EQ(finding.rank, 1U);
  }
}

}  // namespace
}  // namespace cobre::command
