// The scenario tree: `openings` equally likely shocks for every stage and plant, and which of them a forward path
// takes.
#pragma once

#include <cstddef>
#include <span>

#include "random.hpp"
#include "system.hpp"

namespace sddp {

/// The shocks of all stages, wherever they are kept: [stage][opening][hydro].
class ScenarioTree {
 public:
  ScenarioTree(const Dimensions& dimensions, std::span<const double> shocks)
      : dimensions_(dimensions), shocks_(shocks) {}

  static std::size_t count(const Dimensions& d) noexcept { return d.stages * d.openings * d.hydros; }

  /// The shock of each plant.
  [[nodiscard]] std::span<const double> shocks(std::size_t stage, std::size_t opening) const {
    return shocks_.subspan((stage * dimensions_.openings + opening) * dimensions_.hydros, dimensions_.hydros);
  }

  /// The opening that a forward path meets: a function of these three and the seed.
  [[nodiscard]] std::size_t opening(std::size_t iteration, std::size_t scenario, std::size_t stage) const {
    const auto purpose = static_cast<std::uint64_t>(Purpose::Path);
    return hash({dimensions_.seed, purpose, iteration, scenario, stage}) % dimensions_.openings;
  }

 private:
  Dimensions dimensions_;
  std::span<const double> shocks_;
};

/// Computes all shocks: 1 on average, at least a twentieth, and correlated between plants as the case says.
void fill_tree(const System& system, std::span<double> shocks);

/// The state before the first stage.
void initial_state(const System& system, std::span<double> state);

/// This stage's inflow of each plant, after `state` and under `shocks`.
void inflows(const System& system, std::size_t stage, std::span<const double> state, std::span<const double> shocks,
             std::span<double> inflow);

}  // namespace sddp
