#include <gtest/gtest.h>

#include <numeric>

#include "training.hpp"

namespace {

class StageProblemTest : public testing::Test {
 protected:
  StageProblemTest() {
    // A few planes with slopes on water and on past inflows, so that every part of a slope matters.
    for (std::size_t slot = 0; slot < 4; ++slot) {
      cuts_.push_back(9000.0 - 100.0 * static_cast<double>(slot));
      for (std::size_t j = 0; j < d_.state(); ++j) {
        cuts_.push_back(-3.0 - static_cast<double>((slot * 5 + j * 3) % 7));
      }
    }
    sddp::initial_state(system_, state_);
    slots_.resize(4);
    std::iota(slots_.begin(), slots_.end(), 0U);
  }

  [[nodiscard]] sddp::StageProblem problem() const { return {system_, 1, {d_, cuts_, {}}, slots_}; }
  [[nodiscard]] std::span<const double> shocks() const { return sddp::ScenarioTree(d_, tree_).shocks(1, 0); }

  sddp::Case data_ = test::small_case(1);
  sddp::Dimensions d_ = data_.dimensions;
  sddp::System system_ = data_.system();
  std::vector<double> tree_ = test::tree_of(system_), cuts_, state_ = std::vector<double>(d_.state());
  std::vector<std::size_t> slots_;
};

TEST_F(StageProblemTest, SlopesTellHowTheValueChangesWithEveryPartOfTheState) {
  const sddp::StageProblem stage = problem();
  const sddp::Solution here = stage.solve(state_, shocks(), {});
  for (std::size_t j = 0; j < d_.state(); ++j) {
    std::vector<double> beside = state_;
    beside[j] += 1e-3;
    const double change = (stage.solve(beside, shocks(), {}).value - here.value) / 1e-3;
    EXPECT_NEAR(change, here.slopes[j], 1e-4) << "component " << j;
  }
}

TEST_F(StageProblemTest, TheAnswerDoesNotDependOnWhatWasSolvedBefore) {
  const sddp::StageProblem stage = problem();
  const sddp::Solution first = stage.solve(state_, shocks(), {});
  std::vector<double> other(state_);
  for (double& value : other) value *= 0.3;
  (void)stage.solve(other, shocks(), first.basis);
  const sddp::Solution again = stage.solve(state_, shocks(), {});
  EXPECT_EQ(first.value, again.value);
  EXPECT_EQ(first.slopes, again.slopes);
  EXPECT_EQ(first.pivots, again.pivots);
}

TEST_F(StageProblemTest, AGoodBasisSavesThePivots) {
  const sddp::StageProblem stage = problem();
  const sddp::Solution cold = stage.solve(state_, shocks(), {});
  const sddp::Solution warm = stage.solve(state_, shocks(), cold.basis);
  EXPECT_GT(cold.pivots, 0U);
  EXPECT_EQ(warm.pivots, 0U);
  EXPECT_NEAR(warm.value, cold.value, 1e-9 * cold.value);
}

TEST_F(StageProblemTest, ABasisFromAnotherSetOfCutsStillLeadsToTheOptimum) {
  const sddp::Basis all = problem().solve(state_, shocks(), {}).basis;
  for (std::size_t left_out = 0; left_out < slots_.size(); ++left_out) {
    std::vector<std::size_t> some = slots_;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(left_out));
    const sddp::StageProblem stage(system_, 1, {d_, cuts_, {}}, some);
    const double cold = stage.solve(state_, shocks(), {}).value;
    EXPECT_NEAR(stage.solve(state_, shocks(), all).value, cold, 1e-9 * cold);
  }
}

TEST_F(StageProblemTest, WaterIsNeverLostOnlySpilled) {
  const sddp::Solution solution = problem().solve(state_, shocks(), {});
  for (std::size_t h = 0; h < d_.hydros; ++h) {
    EXPECT_GE(solution.state[h], 0.0);
    EXPECT_LE(solution.state[h], system_.storage_max[h]);
    EXPECT_EQ(solution.state[2 * d_.hydros + h], state_[d_.hydros + h]) << "the last inflow is now the one before";
  }
}

TEST(Blocks, CoverEverythingOnceInOrder) {
  for (std::size_t count : {0U, 1U, 5U, 8U, 17U}) {
    for (std::size_t ranks : {1U, 2U, 3U, 7U}) {
      const sddp::Blocks blocks(count, ranks);
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(blocks.first(rank), next);
        EXPECT_LE(blocks.size(rank), count / ranks + 1);
        next += blocks.size(rank);
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(ParallelFor, ThrowsWhatTheLowestIndexThrew) {
  try {
    sddp::parallel_for(20, 4, [](std::size_t i) {
      if (i % 7 == 3) throw std::runtime_error(std::to_string(i));
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "3");
  }
}

}  // namespace
