// A tree of facts for people.
#pragma once

#include <string>

#include "facts.hpp"

namespace cobre::command {

/// A line for each value; what belongs together is indented.
[[nodiscard]] std::string as_text(const Facts& facts);

}  // namespace cobre::command
