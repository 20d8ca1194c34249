// The cuts of all stages, in shared memory, and with each the state that it was made at. Slot = iteration * scenarios +
// scenario, so that where a cut lies does not depend on who made it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "cuts.hpp"
#include "shared_array.hpp"

namespace sddp {

/// What the pool needs on each node.
[[nodiscard]] inline std::uint64_t pool_bytes(const Dimensions& d) {
  return (d.stages - 1) * d.iterations * d.scenarios * (Cut::width(d) + d.state()) * sizeof(double);
}

template <class C>
class CutPool {
 public:
  /// Collective. Stages have cuts but for the last.
  CutPool(const C& comm, const Dimensions& d)
      : dimensions_(d),
        capacity_(d.iterations * d.scenarios),
        cuts_(comm, (d.stages - 1) * capacity_ * Cut::width(d)),
        states_(comm, (d.stages - 1) * capacity_ * d.state()) {}

  /// The first `slots` cuts of a stage.
  [[nodiscard]] std::span<const double> cuts(std::size_t stage, std::size_t slots) const {
    const std::size_t width = Cut::width(dimensions_);
    return cuts_.read().subspan(stage * capacity_ * width, slots * width);
  }
  /// The states that they were made at.
  [[nodiscard]] std::span<const double> states(std::size_t stage, std::size_t slots) const {
    const std::size_t width = dimensions_.state();
    return states_.read().subspan(stage * capacity_ * width, slots * width);
  }

  /// Writes cuts from this slot on. Every rank calls it with the same; one a node does it. Nobody reads them before
  /// the next settle().
  void write(std::size_t stage, std::size_t slot, std::span<const double> cuts, std::span<const double> states) {
    put(cuts_.write(), (stage * capacity_ + slot) * Cut::width(dimensions_), cuts);
    put(states_.write(), (stage * capacity_ + slot) * dimensions_.state(), states);
  }

  /// Collective. From here on all ranks read what was written.
  void settle() const {
    cuts_.fence();
    states_.fence();
  }

 private:
  static void put(std::span<double> all, std::size_t at, std::span<const double> part) {
    if (!all.empty()) std::ranges::copy(part, all.begin() + static_cast<std::ptrdiff_t>(at));
  }

  Dimensions dimensions_;
  std::size_t capacity_;
  SharedArray<C> cuts_, states_;
};

}  // namespace sddp
