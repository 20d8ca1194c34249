// What `cobre-comm bench` makes of the numbers that its programs print.

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "bench/results.hpp"
#include "bench/table.hpp"

namespace cobre::command::bench {
namespace {

Record record_of(const std::string& name, double median) {
  Record record;
  record.operation = "barrier";
  record.ranks = 2;
  record.contestant = find_contestant(name);
  record.summary.median = median;
  return record;
}

TEST(Summary, IsThatOfTheBatchesOfAllRounds) {
  const Summary summary = summarise({{3, 1, 2}, {8, 5, 7, 6}});
  EXPECT_EQ(summary.median, 5);
  EXPECT_EQ(summary.p99, 8);
  EXPECT_EQ(summary.min, 1);
}

TEST(Summary, ThePercentileLeavesOutOneInAHundred) {
  std::vector<double> times(200);
  std::iota(times.begin(), times.end(), 1.0);
  EXPECT_EQ(summarise({times}).p99, 198);
}

TEST(Summary, TheNoiseIsHalfOfWhatTheRoundsAreApart) {
  EXPECT_DOUBLE_EQ(summarise({{3, 1, 2}, {8, 5, 7, 6}}).noise.value(), (6 - 2) / 2.0 / 5);
  EXPECT_EQ(summarise({{1, 2, 3}}).noise, std::nullopt) << "one round says nothing about it";
}

TEST(Judging, OfTheThreadLevelsTheFasterCountsWhicheverCameFirst) {
  for (const auto& [first, second] : {std::pair(5.0, 3.0), std::pair(3.0, 5.0)}) {
    Results results;
    results.add("barrier", 0, 2, *find_contestant("openmpi"), "single", {first});
    results.add("barrier", 0, 2, *find_contestant("openmpi"), "multiple", {second});
    const auto records = results.records(Limits(), 2, Bars());
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].summary.median, 3);
    EXPECT_EQ(records[0].level, first < second ? "single" : "multiple");
  }
}

TEST(Judging, SlowerThanTheBestPeerIsWhatTheNoiseOfBothDoesNotExplain) {
  Record record = record_of("shm", 1);
  record.ratio = 0.85;
  EXPECT_TRUE(loses(record));
  record.summary.noise = 0.1;
  EXPECT_TRUE(loses(record));
  record.peer_noise = 0.1;
  EXPECT_FALSE(loses(record));
  record.verdict = Verdict{"openmpi", 0.85, 0.9};
  EXPECT_TRUE(loses(record)) << "what was promised was promised";
}

TEST(Judging, TheTableSaysWhichShareOfTheLimitWasReached) {
  Record record = record_of("shm", 4);
  record.limit = 1;
  EXPECT_NE(as_table({}, {record}).find(" 25%"), std::string::npos);
}

}  // namespace
}  // namespace cobre::command::bench
