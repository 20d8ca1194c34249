// Sharing work out in blocks: contiguous, in rank order, no two lengths differing by more than one.
#pragma once

#include <cstddef>

namespace cobre::comm::detail {

struct Block {
  std::size_t start;
  std::size_t count;
};

/// The part of `total` that falls to `rank` of `size`: the first total % size ranks get one more.
[[nodiscard]] constexpr Block block_of(std::size_t total, std::size_t rank, std::size_t size) noexcept {
  const std::size_t base = total / size;
  const std::size_t longer = total % size;
  return {base * rank + (rank < longer ? rank : longer), base + (rank < longer ? 1 : 0)};
}

}  // namespace cobre::comm::detail
