// Buffers in the memory of a GPU. No backend can read there, and the attempt would end the process without a word.
//
// Only the driver knows which addresses those are, and a driver may be loaded long after a communicator was made. So
// stretches of addresses are remembered that were seen while no driver was there: a buffer in one of them costs one
// load and one comparison. Any other is looked at, out of line, and the first look that finds a driver forgets them
// all.
//
// Nothing tells when a driver is loaded, so until that look a stretch that the program has given back, and the driver
// has taken for the device, still passes for the host's.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cobre::comm::detail {

inline constexpr unsigned stretch_bits = 16;  // of 64 KiB

/// By number, each in the place of its remainder; a number in a place that is not its own stands for none, and there is
/// one in the null pointer's. Relaxed everywhere: a number is a hint of its own and orders nothing, and who misses one
/// looks again.
extern std::array<std::atomic<std::uintptr_t>, 256> host_stretches;

[[nodiscard]] inline bool is_known_to_be_on_host(const void* data) noexcept {
  const std::uintptr_t stretch = reinterpret_cast<std::uintptr_t>(data) >> stretch_bits;
  return host_stretches[stretch % host_stretches.size()].load(std::memory_order_relaxed) == stretch;
}

/// Whether a driver is loaded and says that the memory is a device's alone. Remembers the stretch where none is.
[[nodiscard]] bool is_on_device(const void* data) noexcept;

}  // namespace cobre::comm::detail
