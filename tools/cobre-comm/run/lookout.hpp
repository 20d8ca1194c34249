// Who watches the ranks where a launcher of MPI starts them.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cobre::command {

/// Leaves a process behind that says which of the ranks failed first. To be called by the process that becomes the
/// launcher: the lookout ends with it, at the latest, and has nothing to say once the launcher's `timeout` is over.
/// Returns the words that go before the program, so that each rank calls the lookout before it becomes the program;
/// none where there can be no lookout.
[[nodiscard]] std::vector<std::string> post_lookout(std::size_t ranks,
                                                    std::optional<std::chrono::milliseconds> timeout);

/// What those words do on each rank: calls the lookout, if it is on this machine, and becomes the program. There is no
/// process in between, so for the launcher the rank is what it is without us. Returns only to throw UsageError.
[[noreturn]] void become_watched(const std::string& lookout, const std::vector<std::string>& command);

}  // namespace cobre::command
