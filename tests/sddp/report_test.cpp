// What is told of the time, where it is known exactly.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report.hpp"

namespace {

/// Three ranks that solved for 1, 2 and 6 seconds of 9.
sddp::Report uneven() {
  sddp::Report report;
  report.times = {{9.0, 1.0, 0.5, 7.0}, {9.0, 2.0, 0.5, 6.0}, {9.0, 6.0, 0.5, 2.0}};
  return report;
}

TEST(TimeSplit, SaysOfEachRankHowMuchMoreThanItsShareItSolved) {
  EXPECT_EQ(sddp::imbalances(uneven().times), (std::vector{1.0 / 3.0, 2.0 / 3.0, 2.0}));
  EXPECT_EQ(sddp::imbalance(uneven().times), 2.0);
}

TEST(TimeSplit, IsEvenWhereNobodySolvedAnything) {
  const std::vector<sddp::TimeSplit> idle(2);
  EXPECT_EQ(sddp::imbalances(idle), (std::vector{1.0, 1.0}));
  EXPECT_EQ(sddp::imbalance(idle), 1.0);
  EXPECT_EQ(sddp::imbalance({}), 1.0);
}

TEST(TimeSplit, StandsOnTheConsoleRankByRank) {
  std::istringstream text(sddp::describe_result(uneven()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (line == "Time" || !lines.empty()) lines.push_back(line);
  }
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[1], "     rank    total    solve  communicate     wait     rest  imbalance");
  EXPECT_EQ(lines[2], "        0   9.000s   1.000s    0.500000s   7.000s   0.500s      0.333");
  EXPECT_EQ(lines[4], "        2   9.000s   6.000s    0.500000s   2.000s   0.500s      2.000");
  EXPECT_TRUE(lines[5].starts_with("imbalance of solving 2.000, communication 5.556 % of the time")) << lines[5];
}

TEST(TimeSplit, StandsInTheJsonRankByRank) {
  const auto json = nlohmann::json::parse(sddp::to_json(uneven()));
  ASSERT_EQ(json["times"].size(), 3U);
  EXPECT_EQ(json["times"][0]["imbalance"], 1.0 / 3.0);
  EXPECT_EQ(json["times"][2]["imbalance"], 2.0);
  EXPECT_EQ(json["times"][2]["rest"], 0.5);
  EXPECT_EQ(json["imbalance"], 2.0);
}

TEST(TimeSplit, StandsOnThePageRankByRank) {
  const std::string page = sddp::to_html(uneven());
  EXPECT_NE(page.find("<tr><th>1</th><td>9.0000 s</td><td>2.0000 s</td><td>0.5000 s</td><td>6.0000 s</td>"
                      "<td>0.5000 s</td><td>0.667</td></tr>"),
            std::string::npos)
      << page;
}

}  // namespace
