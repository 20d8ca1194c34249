// The parts of a machine that a communicator can be split into.
#pragma once

#include <iosfwd>

namespace ferrompi {

enum class SplitType {
  Shared,     ///< processes that can share memory
  Undefined,  ///< this process joins none
};

/// `Shared` or `Undefined`.
[[nodiscard]] const char* to_string(SplitType type) noexcept;
std::ostream& operator<<(std::ostream& out, SplitType type);

}  // namespace ferrompi
