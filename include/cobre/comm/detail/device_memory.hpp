// Buffers in the memory of a GPU. No backend can read there, and the attempt would end the process without a word.
//
// Only the driver knows which addresses those are, and a driver may be loaded long after a communicator was made. So
// stretches of addresses are remembered that were seen while no driver was there: a buffer in one of them costs one
// load and one comparison. Any other is looked at, out of line.
#pragma once

#include <cobre/comm/errors.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cobre::comm::detail {

inline constexpr unsigned stretch_bits = 16;  // of 64 KiB

/// By number, each in the place of its remainder; 0, where nothing ever lies, stands for none. Relaxed everywhere: a
/// number is a hint of its own and orders nothing, and who misses one looks again.
extern std::array<std::atomic<std::uintptr_t>, 256> host_stretches;

/// Throws InvalidOperation where a driver is loaded and says that the memory is a device's alone.
[[gnu::cold]] void look_for_device(Where where, const void* data, std::size_t bytes);

inline void check_on_host(Where where, const void* data, std::size_t bytes) {
  const std::uintptr_t stretch = reinterpret_cast<std::uintptr_t>(data) >> stretch_bits;
  if (host_stretches[stretch % host_stretches.size()].load(std::memory_order_relaxed) != stretch) [[unlikely]]
    look_for_device(where, data, bytes);
}

}  // namespace cobre::comm::detail
