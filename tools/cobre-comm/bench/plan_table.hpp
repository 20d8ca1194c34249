// Plans beside plain calls, for people.
#pragma once

#include <string>
#include <vector>

#include "contest.hpp"
#include "results.hpp"

namespace cobre::command::bench {

/// What a call costs plainly, by a plan, and by a plan that is used so many times, set-up included.
[[nodiscard]] std::string as_table_of_plans(const Run& run, const std::vector<Record>& records);

}  // namespace cobre::command::bench
