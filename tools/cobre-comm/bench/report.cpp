#include "report.hpp"

#include <sstream>

namespace cobre::command::bench {

std::optional<Report> read_report(const std::string& line) {
  std::istringstream words(line);
  Report report;
  if (!(words >> report.operation >> report.bytes)) return std::nullopt;
  for (double time = 0; words >> time;) report.times.push_back(time);
  if (report.times.empty()) return std::nullopt;
  return report;
}

}  // namespace cobre::command::bench
