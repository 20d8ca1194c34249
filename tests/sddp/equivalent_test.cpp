// The whole scenario tree as one linear program: what training must come to.
#include <gtest/gtest.h>

#include <cmath>
#include <coin/ClpSimplex.hpp>

#include "training.hpp"

namespace {

/// One node of the tree is one stage under one opening, after one history.
class DeterministicEquivalent {
 public:
  explicit DeterministicEquivalent(const sddp::Case& data)
      : system_(data.system()), d_(data.dimensions), shocks_(test::tree_of(system_)), tree_(d_, shocks_) {
    std::vector<double> start(d_.state());
    sddp::initial_state(system_, start);
    grow(0, 1.0, start, -1);
  }

  double optimum() {
    ClpSimplex model;
    model.setLogLevel(0);
    const CoinPackedMatrix matrix(false, rows_.data(), columns_.data(), values_.data(),
                                  static_cast<CoinBigIndex>(values_.size()));
    model.loadProblem(matrix, lower_.data(), upper_.data(), cost_.data(), bound_.data(), bound_.data());
    model.dual();
    EXPECT_EQ(model.status(), 0);
    return model.objectiveValue();
  }

 private:
  int column(double upper, double cost) {
    lower_.push_back(0.0);
    upper_.push_back(upper);
    cost_.push_back(cost);
    return static_cast<int>(cost_.size()) - 1;
  }
  void entry(std::size_t row, int at, double value) {
    rows_.push_back(static_cast<int>(row));
    columns_.push_back(at);
    values_.push_back(value);
  }

  /// `state` is what came before, but for the stored water, which is the parent's columns from `parent` on.
  void grow(std::size_t stage, double weight, const std::vector<double>& state, int parent) {
    const double share = weight / static_cast<double>(d_.openings);
    for (std::size_t opening = 0; opening < d_.openings; ++opening) {
      std::vector<double> inflow(d_.hydros);
      sddp::inflows(system_, stage, state, tree_.shocks(stage, opening), inflow);
      const int stored = static_cast<int>(cost_.size());
      for (std::size_t h = 0; h < d_.hydros; ++h) column(system_.storage_max[h], 0.0);
      const std::size_t balance = bound_.size(), demand = balance + d_.hydros;
      for (std::size_t h = 0; h < d_.hydros; ++h) {
        const int kept = stored + static_cast<int>(h);
        const int turbined = column(system_.turbine_max[h], 0.0), spilled = column(COIN_DBL_MAX, 0.0);
        for (const int at : {kept, turbined, spilled}) entry(balance + h, at, 1.0);
        if (system_.downstream(h) < d_.hydros) {
          for (const int at : {turbined, spilled}) entry(balance + system_.downstream(h), at, -1.0);
        }
        entry(demand, turbined, system_.productivity[h]);
        if (parent >= 0) entry(balance + h, parent + static_cast<int>(h), -1.0);
        bound_.push_back(inflow[h] + (parent >= 0 ? 0.0 : state[h]));
      }
      for (std::size_t k = 0; k < d_.thermals; ++k)
        entry(demand, column(system_.capacity[k], share * system_.cost[k]), 1.0);
      entry(demand, column(COIN_DBL_MAX, share * d_.deficit_cost), 1.0);
      bound_.push_back(system_.demand[stage]);
      if (stage + 1 < d_.stages) grow(stage + 1, share * d_.discount, after(state, inflow), stored);
    }
  }

  [[nodiscard]] std::vector<double> after(const std::vector<double>& state, const std::vector<double>& inflow) const {
    std::vector<double> next(d_.state());
    for (std::size_t h = 0; h < d_.hydros; ++h) next[d_.hydros + h] = inflow[h];
    for (std::size_t i = 2 * d_.hydros; i < d_.state(); ++i) next[i] = state[i - d_.hydros];
    return next;
  }

  sddp::System system_;
  sddp::Dimensions d_;
  std::vector<double> shocks_;
  sddp::ScenarioTree tree_;
  std::vector<double> lower_, upper_, cost_, bound_, values_;
  std::vector<int> rows_, columns_;
};

TEST(Training, ComesToTheOptimumOfTheWholeTree) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const sddp::Case data = test::small_case(25, seed);
    const double optimum = DeterministicEquivalent(data).optimum();
    EXPECT_GT(optimum, 1.0) << "a case that costs nothing proves nothing";
    EXPECT_NEAR(test::train(data).back().lower, optimum, 1e-6 * optimum) << "seed " << seed;
  }
}

TEST(Training, NeverClaimsMoreThanTheOptimum) {
  const sddp::Case data = test::small_case(12);
  const double optimum = DeterministicEquivalent(data).optimum();
  double before = 0.0;
  for (const sddp::Iteration& iteration : test::train(data)) {
    EXPECT_LE(iteration.lower, optimum * (1.0 + 1e-9));
    EXPECT_GE(iteration.lower, before * (1.0 - 1e-9)) << "a bound does not fall again";
    before = iteration.lower;
  }
}

TEST(Training, ComesToTheSameOptimumWithSelectedCuts) {
  const sddp::Case data = test::small_case(40);
  const double optimum = DeterministicEquivalent(data).optimum();
  sddp::Settings settings;
  settings.select_cuts = true;
  EXPECT_NEAR(test::train(data, settings).back().lower, optimum, 1e-6 * optimum);
}

TEST(Training, EndsWhenTheBoundHasComeToRest) {
  sddp::Settings settings;
  settings.window = 3;
  settings.tolerance = 1e-6;
  const auto trace = test::train(test::small_case(200), settings);
  EXPECT_LT(trace.size(), 200U);
  EXPECT_TRUE(sddp::at_rest(trace, 3, 1e-6));
}

}  // namespace
