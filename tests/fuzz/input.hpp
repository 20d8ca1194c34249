// Taking an input apart, for those that run whole ranks and their like.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>

namespace fuzz {

inline constexpr auto longest = std::chrono::seconds(4);  // of anything here: a rank that takes longer does not answer

/// As far as the input goes; what is missing is zero.
template <class Frame>
Frame take_front(std::span<const std::byte>& bytes) {
  Frame frame;
  const std::size_t count = std::min(bytes.size(), sizeof frame);
  if (count > 0) std::memcpy(static_cast<void*>(&frame), bytes.data(), count);
  bytes = bytes.subspan(count);
  return frame;
}

}  // namespace fuzz
