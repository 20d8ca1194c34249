// What a rank finds out about its machine by the clock, and by which operations then choose their way:
// `measured(costs)`. Where crash points are planted, a test may put back what an earlier job has found, so that the
// next one goes the same way; elsewhere this compiles to nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <type_traits>

namespace cobre::comm::core {

#ifdef COBRE_COMM_CRASH_POINTS

/// What happens to everything that is measured from now on, in this process. Relaxed: set before there are ranks.
using OnMeasured = void (*)(std::span<std::byte> value);
inline constinit std::atomic<OnMeasured> on_measured = nullptr;

template <class T>
void measured(T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const OnMeasured what = on_measured.load(std::memory_order_relaxed);
  if (what != nullptr) what(std::as_writable_bytes(std::span<T, 1>(&value, 1)));
}

#else

template <class T>
constexpr void measured(T& /*value*/) noexcept {}

#endif

}  // namespace cobre::comm::core
