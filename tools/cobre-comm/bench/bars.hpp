// What we promise, cell by cell: a file of ratios to peers.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cobre::command::bench {

/// Where a bar stands: which of ours, doing what, and whether ranks outnumber cores.
struct Place {
  std::string backend;
  std::string operation;
  std::size_t bytes;
  bool crowded;
};

struct Verdict {
  std::string against;
  double ratio;
  double bar;
};

class Bars {
 public:
  Bars() = default;
  /// Reads the file. Throws UsageError that says what is wrong with it.
  explicit Bars(const std::string& file);

  /// Of the bars that stand there the one that is hardest to clear; nothing where none does, or no peer was measured.
  [[nodiscard]] std::optional<Verdict> judge(const Place& place, const std::map<std::string, double>& ratios) const;

 private:
  struct Bar {
    std::string backend, operation;
    std::optional<std::size_t> bytes;  // all sizes where it is missing
    bool crowded;
    std::vector<std::string> against;
    double ratio;
  };
  std::vector<Bar> bars_;
};

}  // namespace cobre::command::bench
