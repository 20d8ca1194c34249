// The ratios of a stored run beside those of this one.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "contest.hpp"
#include "options.hpp"
#include "results.hpp"

namespace cobre::command::bench {

struct Findings {
  std::string text;  // what became worse, what could not be compared as it was, and the sum
  bool worse = false;
};

class Baseline {
 public:
  /// Reads what `--json` has written. Throws UsageError that says what is wrong with the file.
  explicit Baseline(const std::string& file);

  /// What nothing was said about is as it was in the stored run, so that both have the same cells.
  void complete(Wishes& wishes) const;

  /// Whether it happened in the stored run as well: then it is nothing new.
  [[nodiscard]] bool has(const Absence& absence) const;

  /// Only cells that both have: what this run lacks is said. None at all is as bad as a worse one: nothing was shown.
  [[nodiscard]] Findings compare(const std::vector<Record>& records) const;

 private:
  using Cell = std::tuple<std::string, std::string, std::size_t, std::size_t>;  // operation, backend, ranks, bytes
  struct Stored {
    double ratio;
    std::string best_peer;
    double noise;  // of the ratio
  };
  [[nodiscard]] std::string missing_in(const std::vector<Record>& records) const;

  std::map<Cell, Stored> cells_;
  std::set<std::pair<std::string, std::string>> absent_;  // who, and why
  Wishes wishes_;
};

}  // namespace cobre::command::bench
