// Who is found to be missing, or to disagree, from what the ranks of a tcp job testify.

#include "comm/backends/tcp/arbiter.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/backends/tcp/neighbours.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;
using namespace std::chrono_literals;

// Of a job of that size without those who have left it, `below` some rank alone where that is said.
Arbiter::Tree tree_of(std::size_t size, std::set<std::size_t> left = {}, std::size_t below = 0,
                      std::optional<std::size_t> silent = {}) {
  const auto has_left = [left = std::move(left)](std::size_t rank) { return left.contains(rank); };
  return {.expects = [=](std::size_t rank) { return rank >= below && !has_left(rank); },
          .parent_of = [=](std::size_t rank) { return parent_of(rank, size, has_left); },
          .silent = silent};
}

struct Court {
  explicit Court(std::size_t size, std::vector<std::size_t> hosts = {}, Arbiter::Tree those = {})
      : arbiter(size, 0, std::move(hosts)), tree(those.expects ? std::move(those) : tree_of(size)) {}

  Testimony testimony(std::uint32_t rank, std::uint64_t entered, std::uint64_t left) const {
    Testimony one;
    one.call = call;
    one.rank = rank;
    one.entered = entered;
    one.left = left;
    for (std::uint64_t s = 1; s <= entered; ++s) one.history[s % Journal::depth].sequence = s;
    return one;
  }
  void open(Question question, std::uint32_t rank, std::uint64_t sequence) {
    arbiter.ask({.question = question, .rank = rank, .sequence = sequence, .waited_microseconds = 2'000'000}, now);
    const auto ruling = rule();
    ASSERT_TRUE(ruling.call);
    call = ruling.call->number;
  }
  Arbiter::Ruling rule() { return arbiter.rule(now, tree); }

  Arbiter arbiter;
  Arbiter::Tree tree;
  Clock::time_point now = Clock::now();
  std::uint64_t call = 0;
};

TEST(TcpArbiter, WaitsForAllAnswersAndThenNamesWhoIsMissing) {
  Court court(3);
  court.open(Question::TimeIsUp, 0, 5);
  court.arbiter.hear(court.testimony(0, 5, 4));
  court.arbiter.hear(court.testimony(1, 5, 4));
  EXPECT_FALSE(court.rule().verdict);
  court.arbiter.hear(court.testimony(2, 4, 4));
  const auto ruling = court.rule();
  ASSERT_TRUE(ruling.verdict);
  EXPECT_EQ(ruling.verdict->kind, VerdictKind::TimedOut);
  EXPECT_EQ(ruling.verdict->ranks.list(), std::vector<std::size_t>{2});
}

TEST(TcpArbiter, TakesSilenceForAbsenceButSaysNothingOfThoseBehindIt) {
  Court court(4);
  court.open(Question::TimeIsUp, 0, 5);
  court.arbiter.hear(court.testimony(0, 5, 4));
  court.arbiter.hear(court.testimony(1, 5, 4));
  court.now += 1s;
  const auto ruling = court.rule();
  ASSERT_TRUE(ruling.verdict);
  EXPECT_EQ(ruling.verdict->ranks.list(), std::vector<std::size_t>{2});
}

// Rank 6 is below rank 4, and when that one has left below rank 2, which is stopped.
TEST(TcpArbiter, SaysNothingOfThoseWhoAreBehindSilenceBecauseARankBetweenHasLeft) {
  constexpr std::size_t size = 16;
  for (const Question question : {Question::TimeIsUp, Question::WhoIsMissing}) {
    Court court(size, {}, tree_of(size, {4}));
    ASSERT_EQ(court.tree.parent_of(6), 2U);
    court.open(question, 0, 5);
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      const bool hears_nothing = rank == 2 || rank == 3 || rank == 6 || rank == 7;
      if (rank != 4 && !hears_nothing) court.arbiter.hear(court.testimony(rank, 5, 4));
    }
    court.now += 1s;
    const auto ruling = court.rule();
    EXPECT_EQ(ruling.verdict.has_value(), question == Question::TimeIsUp);
    EXPECT_EQ(ruling.warnings.size(), question == Question::WhoIsMissing ? 1U : 0U);
    if (ruling.verdict) {
      EXPECT_EQ(ruling.verdict->ranks.list(), std::vector<std::size_t>{2});
    }
    for (const auto& warning : ruling.warnings) {
      const std::string line = warning.line.words();
      EXPECT_NE(line.find("rank 2 does not answer, rank 3 cannot be asked, rank 4 cannot be asked, "),
                std::string::npos);
      EXPECT_NE(line.find(", rank 6 cannot be asked, rank 7 cannot be asked, "), std::string::npos) << line;
    }
  }
}

TEST(TcpArbiter, FindsTheFirstOperationInWhichRanksDiffer) {
  Court court(3);
  court.open(Question::IsAllWell, 1, 9);
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    Testimony one = court.testimony(rank, 9, 8);
    if (rank == 2) one.history[7].root = 1;
    if (rank == 2) one.history[8].root = 1;
    court.arbiter.hear(one);
  }
  const auto ruling = court.rule();
  ASSERT_TRUE(ruling.verdict);
  EXPECT_EQ(ruling.verdict->kind, VerdictKind::Mismatch);
  EXPECT_EQ(ruling.verdict->ranks.list(), std::vector<std::size_t>{2});
  EXPECT_EQ(ruling.verdict->subject_record.sequence, 7U);
}

TEST(TcpArbiter, LetsAloneWhoeverOnlyWaits) {
  Court court(2);
  court.open(Question::IsAllWell, 0, 3);
  court.arbiter.hear(court.testimony(0, 3, 2));
  court.arbiter.hear(court.testimony(1, 2, 2));
  const auto ruling = court.rule();
  EXPECT_FALSE(ruling.verdict || ruling.call);
  EXPECT_TRUE(ruling.warnings.empty());
}

// In a fence that its neighbour does not join: at once, because both wait. Others may fence as often as they like.
TEST(TcpArbiter, NamesWhoFencesWhereItsNeighbourIsInAnOperationOfAll) {
  for (const bool neighbour_joins : {false, true}) {
    Court court(4, {0, 0, 2, 2});
    court.open(Question::IsAllWell, 0, 5);
    for (const std::uint32_t rank : {0U, 1U, 2U, 3U}) {
      Testimony one = court.testimony(rank, rank == 1 ? 4 : 5, 4);
      one.fences.entered = one.entered;
      one.fences.begun = rank == 1 || neighbour_joins ? 3 : 2;
      one.fences.beside[3].operation = detail::Operation::Fence;
      court.arbiter.hear(one);
    }
    const auto ruling = court.rule();
    ASSERT_EQ(ruling.verdict.has_value(), !neighbour_joins);
    if (!ruling.verdict) continue;
    EXPECT_EQ(ruling.verdict->kind, VerdictKind::Mismatch);
    EXPECT_EQ(ruling.verdict->ranks.list(), std::vector<std::size_t>{1});
    EXPECT_EQ(ruling.verdict->subject_record.operation, detail::Operation::Fence);
  }
}

// Two that begin requests and calls in another order: when time is up, and before that in the warning.
TEST(TcpArbiter, TellsOfRequestsThatAreInTheWay) {
  for (const auto standing : {&Testimony::requests, &Testimony::base}) {
    for (const Question question : {Question::IsAllWell, Question::WhoIsMissing, Question::TimeIsUp}) {
      Court court(3);
      court.open(question, 0, 5);
      for (const std::uint32_t rank : {0U, 1U, 2U}) {
        Testimony one = court.testimony(rank, rank == 1 ? 4 : 5, 4);
        (one.*standing).entered = one.entered;
        (one.*standing).begun = rank == 1 ? 7 : 6;
        (one.*standing).beside[7].operation = detail::Operation::Broadcast;
        court.arbiter.hear(one);
      }
      const auto ruling = court.rule();
      EXPECT_EQ(ruling.verdict.has_value(), question == Question::TimeIsUp);
      EXPECT_EQ(ruling.warnings.size(), question == Question::WhoIsMissing ? 1U : 0U);
      for (const auto& warning : ruling.warnings) {
        const std::string line = warning.line.words();
        EXPECT_NE(line.find("; rank 0 is in barrier, rank 1 in nonblocking broadcast"), std::string::npos) << line;
      }
      if (!ruling.verdict) continue;
      EXPECT_EQ(ruling.verdict->kind, VerdictKind::Mismatch);
      EXPECT_EQ(ruling.verdict->ranks.list(), std::vector<std::size_t>{1});
    }
  }
}

// Rank 1 holds the call because rank 0, above it, does not answer: of those beyond nothing is known.
TEST(TcpArbiter, NamesTheSilentOneAboveAndWarnsOfItInItsPlace) {
  Arbiter arbiter(4, 2);
  auto now = Clock::now();
  const Arbiter::Tree below = tree_of(4, {}, 2, 0);
  const auto ask = [&](Question question) {
    arbiter.ask({.question = question, .rank = 3, .sequence = 1, .waited_microseconds = 2'000'000}, now);
    const auto call = arbiter.rule(now, below).call;
    ASSERT_TRUE(call);
    EXPECT_EQ(Arbiter::caller(call->number), 2U);
    for (const std::uint32_t rank : {2U, 3U}) {
      Testimony one;
      one.call = call->number;
      one.rank = rank;
      one.entered = rank == 3 ? 1 : 0;
      if (rank == 3) one.history[1].sequence = 1;
      arbiter.hear(one);
    }
  };
  ask(Question::WhoIsMissing);
  const auto warned = arbiter.rule(now, below);
  ASSERT_EQ(warned.warnings.size(), 1U);
  EXPECT_EQ(warned.warnings[0].rank, 3U);
  const std::string line = warned.warnings[0].line.words();
  EXPECT_NE(line.find("rank 0 does not answer, rank 1 cannot be asked, rank 2 has not joined"), std::string::npos)
      << line;
  ask(Question::TimeIsUp);
  const auto ruling = arbiter.rule(now, below);
  ASSERT_TRUE(ruling.verdict);
  EXPECT_EQ(ruling.verdict->ranks.list(), (std::vector<std::size_t>{0, 2}));
}

}  // namespace
