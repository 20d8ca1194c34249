// Elements that are halved again and again: bit k of a place says which half is taken in step k. So places that agree
// in their low bits share a range, and the ranges of all places of n bits are a partition.
#pragma once

#include <cstddef>

namespace cobre::comm::algorithms {

struct Range {
  std::size_t start;
  std::size_t count;
};

[[nodiscard]] constexpr Range half_of(const Range& range, bool upper) noexcept {
  const std::size_t lower = range.count - range.count / 2;
  return upper ? Range{range.start + lower, range.count - lower} : Range{range.start, lower};
}

/// What is left to `place` among `places`, a power of two.
[[nodiscard]] constexpr Range range_of(const Range& all, std::size_t place, std::size_t places) noexcept {
  Range range = all;
  for (std::size_t bit = 1; bit < places; bit *= 2) range = half_of(range, (place & bit) != 0);
  return range;
}

}  // namespace cobre::comm::algorithms
