#include "stage_problem.hpp"

#include <coin/ClpSimplex.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "scenario_tree.hpp"

namespace sddp {
namespace {

/// Where the columns stand: the water kept, turbined and spilled by each plant, each thermal plant, deficit, future.
struct Columns {
  explicit Columns(const Dimensions& d)
      : turbined(d.hydros),
        spilled(2 * d.hydros),
        thermal(3 * d.hydros),
        deficit(thermal + d.thermals),
        future(deficit + 1),
        count(future + 1) {}
  std::size_t turbined, spilled, thermal, deficit, future, count;
};

/// Rows: the balance of each reservoir, the demand, the cuts.
std::size_t fixed_rows(const Dimensions& d) {
  return d.hydros + 1;
}

/// Clp counts in int.
int index(std::size_t value) {
  return static_cast<int>(value);
}

class Rows {
 public:
  void add(std::size_t column, double value) {
    columns_.push_back(index(column));
    values_.push_back(value);
  }
  void finish() { starts_.push_back(static_cast<CoinBigIndex>(columns_.size())); }

  [[nodiscard]] CoinPackedMatrix matrix(std::size_t column_count) const {
    return {false,
            index(column_count),
            index(starts_.size() - 1),
            starts_.back(),
            values_.data(),
            columns_.data(),
            starts_.data(),
            nullptr};
  }

 private:
  std::vector<int> columns_;
  std::vector<double> values_;
  std::vector<CoinBigIndex> starts_{0};
};

CoinPackedMatrix matrix_of(const System& system, const StageCuts& cuts, std::span<const std::size_t> slots) {
  const Dimensions& d = system.dimensions();
  const Columns columns(d);
  Rows rows;
  for (std::size_t h = 0; h < d.hydros; ++h) {
    for (const std::size_t first : {std::size_t{0}, columns.turbined, columns.spilled}) rows.add(first + h, 1.0);
    for (std::size_t upstream = 0; upstream < d.hydros; ++upstream) {
      if (system.downstream(upstream) != h) continue;
      rows.add(columns.turbined + upstream, -1.0);
      rows.add(columns.spilled + upstream, -1.0);
    }
    rows.finish();
  }
  for (std::size_t h = 0; h < d.hydros; ++h) rows.add(columns.turbined + h, system.productivity[h]);
  for (std::size_t k = 0; k < d.thermals; ++k) rows.add(columns.thermal + k, 1.0);
  rows.add(columns.deficit, 1.0);
  rows.finish();
  for (const std::size_t slot : slots) {
    const auto slopes = cuts[slot].slopes();
    for (std::size_t h = 0; h < d.hydros; ++h) rows.add(h, -slopes[h]);
    rows.add(columns.future, 1.0);
    rows.finish();
  }
  return rows.matrix(columns.count);
}

}  // namespace

StageProblem::StageProblem(const System& system, std::size_t stage, const StageCuts& cuts,
                           std::span<const std::size_t> slots)
    : system_(system), stage_(stage), cuts_(cuts), slots_(slots.begin(), slots.end()) {
  const Dimensions& d = system.dimensions();
  const Columns columns(d);
  const std::size_t row_count = fixed_rows(d) + slots.size();
  std::vector<double> lower(columns.count, 0.0), upper(columns.count, COIN_DBL_MAX), cost(columns.count, 0.0);
  std::ranges::copy(system.storage_max, upper.begin());
  std::ranges::copy(system.turbine_max, upper.begin() + index(columns.turbined));
  std::ranges::copy(system.capacity, upper.begin() + index(columns.thermal));
  std::ranges::copy(system.cost, cost.begin() + index(columns.thermal));
  cost[columns.deficit] = d.deficit_cost;
  // Costs are never negative, so neither is what the future costs; after the last stage there is none.
  cost[columns.future] = d.discount;
  if (stage + 1 == d.stages) upper[columns.future] = 0.0;

  std::vector<double> row_lower(row_count, 0.0), row_upper(row_count, COIN_DBL_MAX);
  row_lower[d.hydros] = row_upper[d.hydros] = system.demand[stage];
  auto model = std::make_unique<ClpSimplex>();
  model->setLogLevel(0);
  model->loadProblem(matrix_of(system, cuts, slots), lower.data(), upper.data(), cost.data(), row_lower.data(),
                     row_upper.data());
  model->scaling(0);  // the numbers of a case are of one size, and scaling each copy costs more than it gives
  pristine_ = std::move(model);
}

StageProblem::StageProblem(StageProblem&&) noexcept = default;
StageProblem& StageProblem::operator=(StageProblem&&) noexcept = default;
StageProblem::~StageProblem() = default;

Solution StageProblem::solve(std::span<const double> state, std::span<const double> shocks, const Basis& start) const {
  const Dimensions& d = system_.dimensions();
  const Columns columns(d);
  Solution solution;
  solution.state.resize(d.state());
  const std::span<double> after = solution.state;
  const std::span<double> inflow = d.order > 0 ? after.subspan(d.hydros, d.hydros) : after.first(d.hydros);
  inflows(system_, stage_, state, shocks, inflow);
  if (d.order > 1)
    std::ranges::copy(state.subspan(d.hydros, (d.order - 1) * d.hydros), after.begin() + index(2 * d.hydros));

  ClpSimplex model(*pristine_);
  for (std::size_t h = 0; h < d.hydros; ++h) {
    const double water = state[h] + inflow[h];
    model.setRowBounds(index(h), water, water);
  }
  const std::span<const double> past = after.subspan(d.hydros);
  double* const lower = model.rowLower();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Cut cut = cuts_[slots_[i]];
    lower[fixed_rows(d) + i] =
        std::inner_product(past.begin(), past.end(), cut.slopes().begin() + index(d.hydros), cut.intercept());
  }

  if (!begin_with(model, start)) model.createStatus();
  model.dual();
  std::size_t pivots = static_cast<std::size_t>(model.numberIterations());
  if (model.status() != 0) {
    // Numerical trouble on the way from this basis: once more from the start, by the other method.
    model.createStatus();
    model.primal();
    pivots += static_cast<std::size_t>(model.numberIterations());
  }
  if (model.status() != 0) {
    throw std::runtime_error("stage " + std::to_string(stage_) + ": Clp found no optimum, status " +
                             std::to_string(model.status()));
  }

  const double* const values = model.primalColumnSolution();
  solution.value = model.objectiveValue();
  solution.cost = solution.value - d.discount * values[columns.future];
  for (std::size_t h = 0; h < d.hydros; ++h) after[h] = std::clamp(values[h], 0.0, system_.storage_max[h]);
  solution.slopes.resize(d.state());
  fill_slopes(model, shocks, solution.slopes);
  solution.basis = basis_of(model);
  solution.pivots = pivots;
  return solution;
}

bool StageProblem::begin_with(ClpSimplex& model, const Basis& start) const {
  if (start.empty()) return false;
  std::vector<unsigned char> status = start.fixed;
  status.reserve(status.size() + slots_.size());
  for (const std::size_t slot : slots_) {
    const unsigned char known = slot < start.cuts.size() ? start.cuts[slot] : 0;
    status.push_back(known != 0 ? known : static_cast<unsigned char>(ClpSimplex::basic));  // a new row starts slack
  }
  // A row that was tight there and has gone here leaves one basic variable too many: then this is no basis.
  const auto basic = std::ranges::count_if(status, [](unsigned char s) { return (s & 7) == ClpSimplex::basic; });
  if (basic != model.numberRows()) return false;
  model.copyinStatus(status.data());
  return true;
}

Basis StageProblem::basis_of(const ClpSimplex& model) const {
  const Dimensions& d = system_.dimensions();
  const std::size_t fixed = Columns(d).count + fixed_rows(d);
  // Clp keeps more than the status in these bytes; the low three bits are the status, and Clp's statuses begin with
  // isFree = 0, which no cut row ever has.
  const auto status_of = [&](std::size_t i) { return static_cast<unsigned char>(model.statusArray()[i] & 7); };
  Basis basis;
  for (std::size_t i = 0; i < fixed; ++i) basis.fixed.push_back(status_of(i));
  if (!slots_.empty()) basis.cuts.resize(slots_.back() + 1);
  for (std::size_t i = 0; i < slots_.size(); ++i) basis.cuts[slots_[i]] = status_of(fixed + i);
  return basis;
}

void StageProblem::fill_slopes(const ClpSimplex& model, std::span<const double> shocks,
                               std::span<double> slopes) const {
  const Dimensions& d = system_.dimensions();
  const double* const price = model.dualRowSolution();
  // What a unit more of each past inflow, as the next stage sees it, costs through the cuts.
  std::vector<double> through_cuts(d.hydros * (d.order + 1), 0.0);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const double weight = price[fixed_rows(d) + i];
    if (weight == 0.0) continue;
    const auto past = cuts_[slots_[i]].slopes().subspan(d.hydros);
    for (std::size_t j = 0; j < past.size(); ++j) through_cuts[j] += weight * past[j];
  }
  for (std::size_t h = 0; h < d.hydros; ++h) {
    slopes[h] = price[h];
    for (std::size_t lag = 0; lag < d.order; ++lag) {
      // A past inflow raises this one, which is water now and the most recent past of the next stage; and it grows
      // older.
      const double by_inflow = shocks[h] * system_.coefficient[lag * d.hydros + h] * (price[h] + through_cuts[h]);
      slopes[(1 + lag) * d.hydros + h] = by_inflow + through_cuts[(lag + 1) * d.hydros + h];
    }
  }
}

}  // namespace sddp
