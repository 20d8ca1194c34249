// Handing a warning to the sink that the program chose.
#pragma once

#include <string_view>

namespace cobre::comm::core {

/// Never throws: a sink that fails must not turn a warning into an error.
void warn(std::string_view line) noexcept;

}  // namespace cobre::comm::core
