// The low-bit-first binomial tree: node v hangs under v & (v - 1), and its subtree is the nodes from v up to the next
// multiple of its lowest bit. Data for the whole tree goes down it in ceil(log2 n) steps.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace cobre::comm::algorithms {

class BinomialTree {
 public:
  /// `node` of `nodes`, as seen from `root`: the root is node 0.
  BinomialTree(std::size_t rank, std::size_t root, std::size_t ranks) noexcept
      : ranks_(ranks), root_(root), node_((rank + ranks - root) % ranks) {}

  [[nodiscard]] std::size_t node() const noexcept { return node_; }
  [[nodiscard]] bool is_root() const noexcept { return node_ == 0; }
  [[nodiscard]] std::size_t rank_of(std::size_t node) const noexcept { return (node + root_) % ranks_; }
  [[nodiscard]] std::size_t parent() const noexcept { return node_ & (node_ - 1); }

  /// One past the last node below, and including, `node`.
  [[nodiscard]] std::size_t end_of_subtree(std::size_t node) const noexcept {
    return node == 0 ? ranks_ : std::min(ranks_, node + (node & -node));
  }

  /// Children with the deepest subtree first: it takes longest from there on.
  template <class Visit>
  void for_each_child(Visit&& visit) const {
    const std::size_t span = node_ == 0 ? std::bit_ceil(ranks_) : node_ & -node_;
    for (std::size_t step = span / 2; step > 0; step /= 2) {
      if (node_ + step < ranks_) visit(node_ + step);
    }
  }

 private:
  std::size_t ranks_;
  std::size_t root_;
  std::size_t node_;
};

}  // namespace cobre::comm::algorithms
