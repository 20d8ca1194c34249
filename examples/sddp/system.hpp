// The power system as numbers: what every rank needs to build its stage problems, in one flat block that can be
// broadcast and shared.
//
// A stage has hydro plants with reservoirs in cascade, thermal plants, one demand, and a deficit that is always
// possible and always dear. Water flows in by itself: the inflow of plant h in stage t is
//
//   inflow(t, h) = shock(t, opening, h) * (base(t, h) + sum over l of coefficient(l, h) * inflow(t - l, h))
//
// which is linear in the past inflows and never negative, so the past inflows are state like the stored water is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace sddp {

/// How large a case is, and the few numbers that it has only once.
struct Dimensions {
  std::uint64_t stages = 0;
  std::uint64_t hydros = 0;
  std::uint64_t thermals = 0;
  std::uint64_t order = 0;      // past inflows that the next one depends on
  std::uint64_t scenarios = 0;  // forward paths in each iteration
  std::uint64_t openings = 0;   // outcomes of each stage in the scenario tree
  std::uint64_t iterations = 0;
  std::uint64_t seed = 0;
  double deficit_cost = 0.0;
  double discount = 1.0;     // what a cost one stage later is worth today
  double correlation = 0.0;  // of the shocks of two plants in one stage, 0 to 1

  /// The length of a state: the water in each reservoir, then each plant's last inflow, the one before, …
  [[nodiscard]] std::size_t state() const noexcept { return hydros * (1 + order); }

  friend bool operator==(const Dimensions&, const Dimensions&) = default;
};

/// Names for the parts of the block. `Number` is `double` where a case is made and `const double` everywhere else.
template <class Number>
class SystemOf {
 public:
  SystemOf(const Dimensions& dimensions, std::span<Number> numbers) : dimensions_(dimensions) {
    const Dimensions& d = dimensions;
    const auto take = [&](std::size_t count) {
      const std::span<Number> part = numbers.first(count);
      numbers = numbers.subspan(count);
      return part;
    };
    if (numbers.size() != count(d)) throw std::invalid_argument("the numbers of a case do not fit its dimensions");
    storage_max = take(d.hydros);
    storage_initial = take(d.hydros);
    turbine_max = take(d.hydros);
    productivity = take(d.hydros);
    downstream_ = take(d.hydros);
    variation = take(d.hydros);
    coefficient = take(d.hydros * d.order);
    history = take(d.hydros * d.order);
    base_inflow = take(d.hydros * d.stages);
    demand = take(d.stages);
    capacity = take(d.thermals);
    cost = take(d.thermals);
  }

  /// How many numbers a case of these dimensions has.
  static std::size_t count(const Dimensions& d) noexcept {
    return d.hydros * (6 + 2 * d.order + d.stages) + d.stages + 2 * d.thermals;
  }

  [[nodiscard]] const Dimensions& dimensions() const noexcept { return dimensions_; }

  /// The plant that receives what plant h lets go, or `hydros` where it is the sea.
  [[nodiscard]] std::size_t downstream(std::size_t h) const { return static_cast<std::size_t>(downstream_[h]); }
  void set_downstream(std::size_t h, std::size_t plant) const { downstream_[h] = static_cast<double>(plant); }

  // By plant; what has a second index runs over the plants fastest: coefficient[lag * hydros + h].
  std::span<Number> storage_max, storage_initial, turbine_max, productivity, variation;
  std::span<Number> coefficient, history, base_inflow;
  std::span<Number> demand;          // by stage
  std::span<Number> capacity, cost;  // by thermal plant

 private:
  Dimensions dimensions_;
  std::span<Number> downstream_;
};

using System = SystemOf<const double>;
using EditableSystem = SystemOf<double>;

}  // namespace sddp
