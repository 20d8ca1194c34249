#include "scenario_tree.hpp"

#include <algorithm>
#include <cmath>

namespace sddp {

void fill_tree(const System& system, std::span<double> shocks) {
  const Dimensions& d = system.dimensions();
  const auto own = static_cast<std::uint64_t>(Purpose::Shock);
  const auto common = static_cast<std::uint64_t>(Purpose::CommonShock);
  const double shared_part = std::sqrt(d.correlation), own_part = std::sqrt(1.0 - d.correlation);
  for (std::size_t stage = 0, at = 0; stage < d.stages; ++stage) {
    for (std::size_t opening = 0; opening < d.openings; ++opening) {
      const double weather = bell(hash({d.seed, common, stage, opening}));
      for (std::size_t h = 0; h < d.hydros; ++h, ++at) {
        const double local = bell(hash({d.seed, own, stage, opening, h}));
        shocks[at] = std::max(0.05, 1.0 + system.variation[h] * (shared_part * weather + own_part * local));
      }
    }
  }
}

void initial_state(const System& system, std::span<double> state) {
  std::ranges::copy(system.history, std::ranges::copy(system.storage_initial, state.begin()).out);
}

void inflows(const System& system, std::size_t stage, std::span<const double> state, std::span<const double> shocks,
             std::span<double> inflow) {
  const Dimensions& d = system.dimensions();
  for (std::size_t h = 0; h < d.hydros; ++h) {
    double expected = system.base_inflow[stage * d.hydros + h];
    for (std::size_t lag = 0; lag < d.order; ++lag) {
      expected += system.coefficient[lag * d.hydros + h] * state[(1 + lag) * d.hydros + h];
    }
    inflow[h] = shocks[h] * expected;
  }
}

}  // namespace sddp
