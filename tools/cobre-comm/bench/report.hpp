// What the programs that `cobre-comm bench` starts print: a line for each point.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cobre::command::bench {

struct Report {
  std::string operation;
  std::size_t bytes = 0;
  std::vector<double> times;  // microseconds
};

/// Nothing where the line says anything else: a launcher may print something too.
[[nodiscard]] std::optional<Report> read_report(const std::string& line);

}  // namespace cobre::command::bench
