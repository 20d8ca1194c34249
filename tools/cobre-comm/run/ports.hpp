// A port for rank 0 to listen at, on the machine on which this is called.
#pragma once

#include <cstdint>

namespace cobre::command {

/// One that nobody has just now, below the range from which kernels hand out ports of their own accord. Where all of
/// them are taken, one of them: rank 0 says so.
[[nodiscard]] std::uint16_t free_port();

}  // namespace cobre::command
