// Where the library puts a window, and how much room is left there.
#pragma once

#include <cstdint>

namespace ferrompi::detail {

/// What windows of several ranks are files of: a directory that this process sees, which need not exist.
[[nodiscard]] const char* window_directory() noexcept;

/// What a window of so many ranks can take, in bytes.
[[nodiscard]] std::uint64_t free_window_memory(int ranks) noexcept;

}  // namespace ferrompi::detail
