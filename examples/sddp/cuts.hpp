// Cuts: planes below the expected cost of everything after a stage.
#pragma once

#include <cstddef>
#include <numeric>
#include <span>

#include "system.hpp"

namespace sddp {

/// One plane: cost(x) >= intercept + slopes . x. As it travels and as it is stored: the intercept, then the slopes.
class Cut {
 public:
  explicit Cut(std::span<const double> record) : record_(record) {}

  static std::size_t width(const Dimensions& d) noexcept { return 1 + d.state(); }

  [[nodiscard]] double intercept() const { return record_.front(); }
  [[nodiscard]] std::span<const double> slopes() const { return record_.subspan(1); }
  [[nodiscard]] double at(std::span<const double> state) const {
    return std::inner_product(state.begin(), state.end(), slopes().begin(), intercept());
  }

 private:
  std::span<const double> record_;
};

/// The cuts of one stage by slot. Those of earlier iterations lie in the pool; those of this one have just arrived and
/// lie where they were received.
class StageCuts {
 public:
  StageCuts(const Dimensions& d, std::span<const double> settled, std::span<const double> fresh)
      : width_(Cut::width(d)), settled_(settled), fresh_(fresh) {}

  [[nodiscard]] std::size_t count() const { return settled_count() + fresh_.size() / width_; }
  [[nodiscard]] std::size_t settled_count() const { return settled_.size() / width_; }

  [[nodiscard]] Cut operator[](std::size_t slot) const {
    const std::size_t settled = settled_count();
    return Cut(slot < settled ? settled_.subspan(slot * width_, width_)
                              : fresh_.subspan((slot - settled) * width_, width_));
  }

 private:
  std::size_t width_;
  std::span<const double> settled_, fresh_;
};

}  // namespace sddp
