// Sharing work out: contiguous blocks in rank order, no two of which differ by more than one.
#pragma once

#include <cobre/comm/detail/blocks.hpp>

#include <cstddef>

namespace cobre::comm {

/// `total` things for `ranks` ranks. The first ranks have one more where it does not come out even.
///
///     const BlockDistribution share(scenarios.size(), comm.size());
///     for (std::size_t i = 0; i < share.count(comm.rank()); ++i) solve(scenarios[share.start(comm.rank()) + i]);
class BlockDistribution {
 public:
  constexpr BlockDistribution(std::size_t total, std::size_t ranks) noexcept
      : total_(total), ranks_(ranks > 0 ? ranks : 1) {}

  [[nodiscard]] constexpr std::size_t total() const noexcept { return total_; }
  [[nodiscard]] constexpr std::size_t ranks() const noexcept { return ranks_; }
  /// Of a rank that there is not: nothing, behind all the rest.
  [[nodiscard]] constexpr std::size_t count(std::size_t rank) const noexcept {
    return rank < ranks_ ? detail::block_of(total_, rank, ranks_).count : 0;
  }
  [[nodiscard]] constexpr std::size_t start(std::size_t rank) const noexcept {
    return rank < ranks_ ? detail::block_of(total_, rank, ranks_).start : total_;
  }
  /// Whose thing number `index` is; ranks(), which is nobody, where there is none of that number.
  [[nodiscard]] constexpr std::size_t owner(std::size_t index) const noexcept {
    if (index >= total_) return ranks_;
    const std::size_t base = total_ / ranks_;
    const std::size_t longer = total_ % ranks_;
    const std::size_t in_longer = longer * (base + 1);
    return index < in_longer ? index / (base + 1) : longer + (index - in_longer) / base;
  }

 private:
  std::size_t total_;
  std::size_t ranks_;
};

}  // namespace cobre::comm
