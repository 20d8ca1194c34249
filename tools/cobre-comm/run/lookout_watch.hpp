// What the lookout does, once it stands where it is in nobody's way.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "comm/core/descriptor.hpp"

namespace cobre::command {

/// Waits for so many ranks to call at `socket`, and for their ends, and writes one line about the first that failed to
/// `words`. Returns when there is nothing more to find out, when the process of `launcher` is gone, or at `end`.
void watch_ranks(std::size_t ranks, comm::core::Descriptor socket, comm::core::Descriptor launcher,
                 std::optional<std::chrono::steady_clock::time_point> end, int words);

}  // namespace cobre::command
