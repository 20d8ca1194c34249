// What was measured, and what it means: a record for each contestant at each point.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bars.hpp"
#include "contestants.hpp"
#include "limits.hpp"
#include "statistics.hpp"

namespace cobre::command::bench {

struct Record {
  std::string operation;
  std::size_t bytes = 0;
  std::size_t ranks = 0;
  const Contestant* contestant = nullptr;
  std::string level;  // of the thread levels that were tried, the faster
  Summary summary;
  std::optional<double> limit;
  std::optional<double> setup;  // of a plan: microseconds of making it
  // Of ours only.
  std::string best_peer;
  std::optional<double> peer_noise;
  std::optional<double> ratio;  // to that peer: above 1 we are faster
  std::optional<Verdict> verdict;
};

/// All samples of a run.
class Results {
 public:
  /// One round of one contestant at one point.
  void add(const std::string& operation, std::size_t bytes, std::size_t ranks, const Contestant& contestant,
           const std::string& level, std::vector<double> times);

  /// In the order of ranks, operation as first seen, bytes, contestant; ours with their ratios.
  [[nodiscard]] std::vector<Record> records(const Limits& limits, std::size_t cores, const Bars& bars) const;

  [[nodiscard]] bool empty() const noexcept { return samples_.empty(); }

 private:
  struct Point {
    std::size_t ranks;
    std::size_t operation;  // its place in operations_
    std::size_t bytes;
    auto operator<=>(const Point&) const = default;
  };
  struct Sampled {
    const Contestant* contestant;
    std::string level;
    std::vector<std::vector<double>> rounds;
  };

  std::vector<std::string> operations_;
  std::map<Point, std::vector<Sampled>> samples_;
};

}  // namespace cobre::command::bench
