// What `cobre-comm bench` makes of the numbers that its programs print.

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/bars.hpp"
#include "bench/check.hpp"
#include "bench/plan_table.hpp"
#include "bench/results.hpp"
#include "bench/table.hpp"
#include "run/options.hpp"

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

TEST(Judging, TheTableHasRoomForTheLongestName) {
  Record record = record_of("shm", 4);
  record.operation = "reduce_scatter_block";
  record.bytes = 33554432;
  std::istringstream lines(as_table({}, {record_of("openmpi", 4), record}));
  std::string line;
  std::vector<std::size_t> ends;  // of the number of bytes
  while (std::getline(lines, line)) {
    if (line.starts_with("operation")) ends.push_back(line.find(" bytes") + 6);
    if (line.starts_with("barrier")) ends.push_back(line.find(" 0 ") + 2);
    if (line.starts_with("reduce")) ends.push_back(line.find(" 33554432") + 9);
  }
  EXPECT_EQ(ends, std::vector<std::size_t>(3, ends.at(0)));
}

TEST(Plans, TheSetUpIsSpreadOverTheCallsAndPaysWhenTheyHaveSavedIt) {
  const Record plain = record_of("shm", 5);
  Record plan = record_of("shm", 3);
  plan.operation += "_init";
  plan.setup = 100;
  const auto last_words = [&](std::size_t count) {
    std::istringstream text(as_table_of_plans({}, {plain, plan}));
    const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
    return std::vector(words.end() - static_cast<std::ptrdiff_t>(count), words.end());
  };
  // plain, persistent, set-up, of 10, 100, 1000 and 10 000 calls, pays after
  EXPECT_EQ(last_words(8),
            (std::vector<std::string>{"5.000", "3.000", "100.0", "13.0", "4.000", "3.100", "3.010", "50"}));
  plan.summary.median = 6;
  EXPECT_EQ(last_words(1), std::vector<std::string>{"never"});
}

TEST(Limit, OfACopyIsTheFasterOfTheTwoWaysIntoAnotherProcess) {
  const std::string rest = "flag_exchange 0 0.1\nline_handover 0 0.01\nadd 400 1\n";
  const auto of_broadcast = [&](const std::string& copies) {
    return Limits(rest + copies).of("broadcast", 800, 2, 2, false).value();
  };
  EXPECT_EQ(of_broadcast("memcpy 800 4\nreadv 800 6\n"), 4.0 / 2) << "by two cores";
  EXPECT_EQ(of_broadcast("memcpy 800 4\nreadv 800 3\n"), 3.0 / 2);
  EXPECT_EQ(of_broadcast("memcpy 800 4\n"), 4.0 / 2) << "the kernel may forbid it";
  EXPECT_EQ(Limits(rest + "memcpy 400 4\nreadv 400 2\n").of("allreduce", 800, 2, 2, false), 1.0 + 2);
}

TEST(Limit, NobodyIsFasterThanASignal) {
  const Limits limits("flag_exchange 0 5\nline_handover 0 7\nmemcpy 800 4\nreadv 800 3\n");
  EXPECT_EQ(limits.of("allgatherv", 800, 2, 2, false), 5);
  EXPECT_EQ(limits.of("broadcast", 800, 2, 2, false), 7);
}

/// A file with one bar for shm beside Open MPI, of so many bytes.
class BarFile : public testing::Test {
 protected:
  ~BarFile() override { (void)std::remove(file_.c_str()); }

  [[nodiscard]] Bars with(const std::string& bytes) const {
    std::ofstream(file_) << R"({"bars":[{"backend":"shm","op":"scan","against":["openmpi"],"ratios":{")" << bytes
                         << R"(":1.5}}]})";
    return Bars(file_);
  }
  [[nodiscard]] static bool judges(const Bars& bars, std::size_t bytes) {
    return bars.judge({"shm", "scan", bytes, false}, {{"openmpi", 2.0}}).has_value();
  }

 private:
  std::string file_ = testing::TempDir() + "bars-" + std::to_string(getpid()) + ".json";
};

TEST_F(BarFile, HoldsBarsForOneSizeOrForAny) {
  EXPECT_TRUE(judges(with("8192"), 8192));
  EXPECT_FALSE(judges(with("8192"), 8));
  EXPECT_TRUE(judges(with("any"), 8));
}

TEST_F(BarFile, WithASizeThatIsNoNumberIsRefused) {
  for (const std::string bytes : {"8K", "-8", "+8", " 8", "", "99999999999999999999"}) {
    SCOPED_TRACE(bytes);
    try {
      (void)with(bytes);
      ADD_FAILURE() << "was taken";
    } catch (const UsageError& error) {
      const std::string said = error.what();
      EXPECT_TRUE(said.starts_with("--bars: '")) << said;
      EXPECT_TRUE(said.ends_with(" holds no bars: '" + bytes + "' is no number of bytes; write digits alone, or any"))
          << said;
    }
  }
}

/// What a comparison says with a stored run in which shm has a ratio of 2 to openmpi, at 8 and at 16 bytes.
class StoredRun : public testing::Test {
 protected:
  ~StoredRun() override { (void)std::remove(file_.c_str()); }

  static Record cell(std::size_t bytes, double ratio, const std::string& peer = "openmpi") {
    Record record = record_of("shm", 1);
    record.operation = "allreduce";
    record.bytes = bytes;
    record.ratio = ratio;
    record.best_peer = peer;
    return record;
  }
  [[nodiscard]] Findings beside(const std::vector<Record>& records) const {
    std::ofstream out(file_);
    out << R"({"records":[)";
    for (const int bytes : {8, 16}) {
      out << R"({"op":"allreduce","backend":"shm","ranks":2,"bytes":)" << bytes << R"(,"noise":)"
          << (bytes == 8 ? noise_.first : 0) << R"(,"ratio":2.0,"best_peer":"openmpi"},)";
    }
    out << R"({"op":"allreduce","backend":"openmpi","ranks":2,"bytes":8,"noise":)" << noise_.second
        << R"(,"ratio":null,"best_peer":null},)"
        << R"({"op":"allreduce","backend":"openmpi","ranks":2,"bytes":16,"noise":null,"ratio":null,"best_peer":null}]})";
    out.close();
    return Baseline(file_).compare(records);
  }

  std::pair<double, double> noise_;  // of 8 bytes: of shm and of the peer

 private:
  std::string file_ = testing::TempDir() + "stored-" + std::to_string(getpid()) + ".json";
};

TEST(StoredOptions, AreThoseOfTheNextRunWhereItSaysNothingElse) {
  const std::string file = testing::TempDir() + "options-" + std::to_string(getpid()) + ".json";
  std::ofstream(file) << R"({"run":{"rounds":3,"effort":0.5,"options":{"ops":"scan","sizes":"8,1M","ranks":"2",)"
                      << R"("peers":"mpich"}},"records":[]})";
  const Baseline baseline(file);
  (void)std::remove(file.c_str());

  Wishes nothing_said;
  baseline.complete(nothing_said);
  EXPECT_EQ(nothing_said.operations, "scan");
  EXPECT_EQ(nothing_said.sizes, "8,1M");
  EXPECT_EQ(nothing_said.ranks, "2");
  EXPECT_EQ(nothing_said.backends, "") << "nor did the stored run say it";
  EXPECT_EQ(nothing_said.peers, "mpich");
  EXPECT_EQ(nothing_said.rounds, 3U);
  EXPECT_EQ(nothing_said.effort, 0.5);

  Wishes some;
  some.operations = "reduce";
  some.backends = "shm";
  some.rounds = 1;
  baseline.complete(some);
  EXPECT_EQ(some.operations, "reduce");
  EXPECT_EQ(some.sizes, "8,1M");
  EXPECT_EQ(some.backends, "shm");
  EXPECT_EQ(some.rounds, 1U);

  Wishes pattern;
  pattern.pattern = "sddp";
  baseline.complete(pattern);
  EXPECT_EQ(pattern.operations + pattern.sizes, "") << "a pattern has its own";
}

TEST_F(StoredRun, FifteenPercentLessIsTolerated) {
  const Findings findings = beside({cell(8, 2 * 0.86), cell(16, 2.5)});
  EXPECT_FALSE(findings.worse);
  EXPECT_EQ(findings.text, "0 of 2 cells became more than 15 % worse\n");
}

TEST_F(StoredRun, MoreThanThatIsNot) {
  const Findings findings = beside({cell(8, 2 * 0.84), cell(16, 2.5)});
  EXPECT_TRUE(findings.worse);
  EXPECT_EQ(findings.text,
            "worse: allreduce of 8 bytes on shm with 2 ranks has a ratio of 1.68 to openmpi, was 2.00\n"
            "1 of 2 cells became more than 15 % worse\n");
}

TEST_F(StoredRun, WhatTheNoiseOfBothRunsExplainsIsSaidButNotHeldAgainstIt) {
  Record noisy = cell(16, 2 * 0.84);
  noisy.summary.noise = 0.12;
  noisy.peer_noise = 0.12;  // together 0.17
  const Findings findings = beside({cell(8, 2), noisy});
  EXPECT_FALSE(findings.worse);
  EXPECT_EQ(findings.text,
            "worse, but not by more than the noise: allreduce of 16 bytes on shm with 2 ranks has a ratio of 1.68 to "
            "openmpi, was 2.00\n"
            "0 of 2 cells became more than 15 % worse, 1 more by less than the noise of both runs\n");
  noisy.ratio = 2 * 0.82;
  EXPECT_TRUE(beside({cell(8, 2), noisy}).worse);
}

TEST_F(StoredRun, TheNoiseOfTheStoredRunCountsAsWell) {
  noise_ = {0.3, 0.4};
  EXPECT_FALSE(beside({cell(8, 2 * 0.51), cell(16, 2)}).worse);
  EXPECT_TRUE(beside({cell(8, 2 * 0.49), cell(16, 2)}).worse);
  EXPECT_TRUE(beside({cell(8, 2), cell(16, 2 * 0.84)}).worse) << "of that size nothing was noisy";
}

TEST_F(StoredRun, ACellThatWasNotMeasuredNowIsNamed) {
  const Findings findings = beside({cell(8, 2)});
  EXPECT_FALSE(findings.worse);
  EXPECT_EQ(findings.text,
            "not compared: allreduce on shm with 2 ranks, which the stored run has: 16 bytes\n"
            "0 of 1 cells became more than 15 % worse\n");
}

TEST_F(StoredRun, ARatioToAnotherPeerIsSaidToBeOne) {
  EXPECT_EQ(beside({cell(8, 1.9, "mpich"), cell(16, 1, "gloo")}).text,
            "another peer: allreduce of 8 bytes on shm with 2 ranks has a ratio of 1.90 to mpich, was 2.00 to openmpi\n"
            "worse: allreduce of 16 bytes on shm with 2 ranks has a ratio of 1.00 to gloo, was 2.00 to openmpi\n"
            "1 of 2 cells became more than 15 % worse\n");
}

TEST_F(StoredRun, NothingComparedIsNothingShown) {
  const Findings findings = beside({});
  EXPECT_TRUE(findings.worse);
  EXPECT_EQ(findings.text,
            "not compared: allreduce on shm with 2 ranks, which the stored run has: 8, 16 bytes\n"
            "0 of 0 cells became more than 15 % worse: the stored run has none of them\n");
}

}  // namespace
}  // namespace cobre::command::bench
