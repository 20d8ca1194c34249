// The results for people.
#pragma once

#include <string>
#include <vector>

#include "contest.hpp"
#include "results.hpp"

namespace cobre::command::bench {

[[nodiscard]] bool below_its_bar(const Record& record);

/// Whether one of ours is below its bar, or, where no bar against a peer stands, slower than the best peer by more than
/// the noise of both.
[[nodiscard]] bool loses(const Record& record);

/// As many digits as mean something.
[[nodiscard]] std::string microseconds(double time);

/// Who was not there or did not get to the end, and whether somebody interrupted it.
[[nodiscard]] std::string notes(const Run& run);

/// Everyone at every point, who was not there, and how many cells are lost.
[[nodiscard]] std::string as_table(const Run& run, const std::vector<Record>& records);

}  // namespace cobre::command::bench
