// Which threads may call MPI.
#pragma once

#include <iosfwd>

namespace ferrompi {

/// Ordered: each level allows what the ones before it allow.
enum class ThreadLevel {
  Single,      ///< there is one thread
  Funneled,    ///< only the thread that initialised MPI calls it
  Serialized,  ///< any thread, but never two at once
  Multiple,    ///< any thread at any time
};

/// `Single`, `Funneled`, `Serialized` or `Multiple`.
[[nodiscard]] const char* to_string(ThreadLevel level) noexcept;
std::ostream& operator<<(std::ostream& out, ThreadLevel level);

}  // namespace ferrompi
