// A message cut into one slice a rank.
#pragma once

#include <cstddef>

namespace cobre::comm::shm {

/// Equal slices in rank order, the first ones longer by an element where the ranks do not divide the count.
class Slices {
 public:
  Slices(std::size_t count, std::size_t ranks) noexcept : share_(count / ranks), longer_(count % ranks) {}

  [[nodiscard]] std::size_t begin(std::size_t rank) const noexcept {
    return rank * share_ + (rank < longer_ ? rank : longer_);
  }
  [[nodiscard]] std::size_t length(std::size_t rank) const noexcept { return share_ + (rank < longer_ ? 1 : 0); }
  [[nodiscard]] std::size_t longest() const noexcept { return share_ + (longer_ > 0 ? 1 : 0); }

 private:
  std::size_t share_;
  std::size_t longer_;
};

}  // namespace cobre::comm::shm
