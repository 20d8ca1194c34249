// Who does what: `count` things in contiguous blocks, one a rank, in the order of the ranks. Joined by an allgatherv
// they are in their own order again, whatever the number of ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sddp {

class Blocks {
 public:
  Blocks(std::size_t count, std::size_t ranks) : count_(count), ranks_(ranks) {}

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t first(std::size_t rank) const noexcept {
    return count_ / ranks_ * rank + std::min(rank, count_ % ranks_);
  }
  [[nodiscard]] std::size_t size(std::size_t rank) const noexcept { return first(rank + 1) - first(rank); }

 private:
  std::size_t count_, ranks_;
};

/// The same in elements, as an allgatherv wants it: each thing has `width` of them.
struct Segments {
  Segments(const Blocks& blocks, std::size_t ranks, std::size_t width) : counts(ranks), displs(ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      counts[rank] = blocks.size(rank) * width;
      displs[rank] = blocks.first(rank) * width;
    }
  }
  std::vector<std::size_t> counts, displs;
};

}  // namespace sddp
