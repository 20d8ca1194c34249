// How a window is laid out, locked and fenced.
#pragma once

#include <ferrompi/detail/mpi.hpp>

#include <iosfwd>
#include <string>

namespace ferrompi {

/// Where the ranks' segments lie.
enum class WindowLayout {
  Contiguous,  ///< one behind the other in rank order, without gaps: rank r's last element stands before rank r+1's
               ///< first
  Separate,    ///< each where the library thinks best, such as on pages of its own, close to its rank
};

enum class LockType {
  Exclusive = MPI_LOCK_EXCLUSIVE,  ///< nobody else holds a lock on that rank's segment
  Shared = MPI_LOCK_SHARED,        ///< others may hold shared locks too
};

/// What the caller promises about a fence, so that MPI can skip work. Combine with `|`. A promise that is not kept is
/// undefined behaviour in MPI; the default promises nothing.
enum class FenceAssert : unsigned {
  None = 0,
  NoStore = 1,    ///< this rank's segment was not written by plain stores since the last fence
  NoPut = 2,      ///< this rank's segment will not be written by put or accumulate until the next fence
  NoPrecede = 4,  ///< no put, get or accumulate was issued since the last fence. Given by all ranks or none; the fence
                  ///< then need not wait for anybody, so it must not stand between plain stores and their readers
  NoSucceed = 8,  ///< no put, get or accumulate will be issued before the next fence. Given by all ranks or none
};

[[nodiscard]] constexpr FenceAssert operator|(FenceAssert a, FenceAssert b) noexcept {
  return static_cast<FenceAssert>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr FenceAssert operator&(FenceAssert a, FenceAssert b) noexcept {
  return static_cast<FenceAssert>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr FenceAssert& operator|=(FenceAssert& a, FenceAssert b) noexcept {
  return a = a | b;
}

[[nodiscard]] const char* to_string(WindowLayout layout) noexcept;
[[nodiscard]] const char* to_string(LockType type) noexcept;
std::ostream& operator<<(std::ostream& out, WindowLayout layout);
std::ostream& operator<<(std::ostream& out, LockType type);
/// The promises joined with `|`, such as `NoPut|NoPrecede`; `None` without any.
[[nodiscard]] std::string to_string(FenceAssert assertion);
std::ostream& operator<<(std::ostream& out, FenceAssert assertion);

}  // namespace ferrompi
