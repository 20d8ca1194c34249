// The ranks as whole subtrees of the canonical tree: a block of ranks for each bit of their number, the largest first.
// Eleven ranks are 0…7, 8…9 and 10. The canonical fold of all is then first + (second + (third + …)), and inside a
// block, whose length is a power of two, it is what pairs make that meet across the lowest bit first.
#pragma once

#include <bit>
#include <cstddef>

namespace cobre::comm::algorithms {

struct Subtree {
  std::size_t first;
  std::size_t size;  // a power of two, or 0 where there is none

  [[nodiscard]] constexpr bool exists() const noexcept { return size > 0; }
  [[nodiscard]] constexpr std::size_t end() const noexcept { return first + size; }
};

[[nodiscard]] constexpr Subtree subtree_from(std::size_t first, std::size_t ranks) noexcept {
  return {first, std::bit_floor(ranks - first)};
}

/// The block that `rank` belongs to.
[[nodiscard]] constexpr Subtree subtree_of(std::size_t rank, std::size_t ranks) noexcept {
  Subtree block = subtree_from(0, ranks);
  while (rank >= block.end()) block = subtree_from(block.end(), ranks);
  return block;
}

/// Its neighbours: the next smaller on the right, the next larger on the left.
[[nodiscard]] constexpr Subtree right_of(const Subtree& block, std::size_t ranks) noexcept {
  return subtree_from(block.end(), ranks);
}
[[nodiscard]] constexpr Subtree left_of(const Subtree& block) noexcept {
  const std::size_t size = block.first & -block.first;  // the lowest of the bits that came before
  return {block.first - size, size};
}

}  // namespace cobre::comm::algorithms
