#include <algorithm>
#include <cmath>

#include "case.hpp"
#include "random.hpp"

namespace sddp {
namespace {

/// Two digits after the point: a case that somebody may read.
double rounded(double value) {
  return std::round(value * 100.0) / 100.0;
}

/// The year has twelve stages: a triangle wave from 0.5 in the dry half to 1.5 in the wet one.
double season(std::size_t stage) {
  const double month = static_cast<double>(stage % 12);
  return 0.5 + std::abs(month - 6.0) / 6.0;
}

}  // namespace

Case synthetic_case(const CaseSizes& sizes) {
  Dimensions d;
  d.stages = sizes.stages.value_or(12);
  d.hydros = sizes.hydros.value_or(4);
  d.thermals = sizes.thermals.value_or(4);
  d.order = sizes.order.value_or(1);
  d.scenarios = sizes.scenarios.value_or(8);
  d.openings = sizes.openings.value_or(6);
  d.iterations = sizes.iterations.value_or(20);
  d.seed = sizes.seed.value_or(1);
  d.deficit_cost = 500.0;
  d.discount = 0.99;
  d.correlation = 0.3;
  Case result(d);
  const EditableSystem system = result.edit();
  result.name = "synthetic";
  const auto draw = [&](double least, double most, std::uint64_t what, std::uint64_t which) {
    const auto purpose = static_cast<std::uint64_t>(Purpose::Case);
    return rounded(least + (most - least) * uniform({d.seed, purpose, what, which}));
  };

  double energy = 0.0;  // that the rivers bring in an average stage
  for (std::size_t h = 0; h < d.hydros; ++h) {
    const std::size_t below = h % 3 == 2 || h + 1 == d.hydros ? d.hydros : h + 1;
    const double inflow = draw(20.0, 60.0, 0, h), memory = d.order > 0 ? 0.5 : 0.0;
    result.hydros[h] = "river " + std::to_string(1 + h / 3) + " dam " + std::to_string(1 + h % 3);
    system.set_downstream(h, below);
    system.productivity[h] = draw(0.6, 1.2, 1, h);
    system.turbine_max[h] = rounded(inflow * draw(1.5, 2.5, 2, h) * static_cast<double>(1 + h % 3));
    system.storage_max[h] = rounded(inflow * draw(2.0, 5.0, 3, h));
    system.storage_initial[h] = rounded(system.storage_max[h] * 0.25);
    system.variation[h] = draw(0.15, 0.35, 4, h);
    for (std::size_t lag = 0; lag < d.order; ++lag) {
      system.coefficient[lag * d.hydros + h] = memory / static_cast<double>(d.order);
      system.history[lag * d.hydros + h] = inflow;
    }
    for (std::size_t t = 0; t < d.stages; ++t) {
      system.base_inflow[t * d.hydros + h] = rounded(inflow * (1.0 - memory) * season(t));
    }
    double path = 0.0;  // a drop turns every turbine on its way down
    for (std::size_t plant = h; plant < d.hydros; plant = plant % 3 == 2 ? d.hydros : plant + 1) {
      path += plant == h ? system.productivity[h] : 0.9;
    }
    energy += inflow * path;
  }
  for (std::size_t t = 0; t < d.stages; ++t) system.demand[t] = rounded(energy * (1.6 + 0.2 * (season(t + 3) - 1.0)));
  for (std::size_t k = 0; k < d.thermals; ++k) {
    result.thermals[k] = "thermal " + std::to_string(1 + k);
    system.capacity[k] = rounded(1.1 * energy / static_cast<double>(d.thermals));
    system.cost[k] =
        rounded(10.0 + 150.0 * static_cast<double>(k) / static_cast<double>(std::max<std::size_t>(d.thermals, 1)));
  }
  return result;
}

}  // namespace sddp
