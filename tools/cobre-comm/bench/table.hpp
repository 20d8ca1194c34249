// The results for people.
#pragma once

#include <string>
#include <vector>

#include "contest.hpp"
#include "results.hpp"

namespace cobre::command::bench {

/// Whether one of ours is below its bar, or, where it has none, slower than the best peer by more than the noise.
[[nodiscard]] bool loses(const Record& record);

/// Everyone at every point, who was not there, and how many cells are lost.
[[nodiscard]] std::string as_table(const Run& run, const std::vector<Record>& records);

}  // namespace cobre::command::bench
