// One stage's linear program, solved by Clp.
//
//   minimise    thermal cost + deficit cost + discount * future
//   subject to  water balance of each reservoir, demand met, future above every cut
//
// The past inflows are known when the problem is solved, so they enter right-hand sides only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "cuts.hpp"
#include "system.hpp"

class ClpSimplex;

namespace sddp {

/// Which variables and which rows are basic. Cut rows are kept by slot, so that the basis of one stage or iteration
/// can start another, where cuts were added or left out since.
struct Basis {
  std::vector<unsigned char> fixed;  // the columns, then the rows that every stage has
  std::vector<unsigned char> cuts;   // by slot; 0 where the slot had no row

  [[nodiscard]] bool empty() const { return fixed.empty(); }
};

struct Solution {
  double value = 0.0;          // cost of this stage and all that follow
  double cost = 0.0;           // of this stage alone
  std::vector<double> state;   // after the stage
  std::vector<double> slopes;  // how `value` changes with the state before the stage
  Basis basis;
  std::size_t pivots = 0;
};

/// The part of a stage problem that all its solves share. `solve` is const and works on a copy: what it returns depends
/// on its arguments alone, never on what was solved before, and many threads may call it at once.
class StageProblem {
 public:
  /// `slots` lists the cuts that get a row.
  StageProblem(const System& system, std::size_t stage, const StageCuts& cuts, std::span<const std::size_t> slots);
  StageProblem(StageProblem&&) noexcept;
  StageProblem& operator=(StageProblem&&) noexcept;
  ~StageProblem();

  /// Throws std::runtime_error where Clp finds no optimum: every stage problem has one.
  [[nodiscard]] Solution solve(std::span<const double> state, std::span<const double> shocks, const Basis& start) const;

 private:
  [[nodiscard]] bool begin_with(ClpSimplex& model, const Basis& start) const;
  [[nodiscard]] Basis basis_of(const ClpSimplex& model) const;
  void fill_slopes(const ClpSimplex& model, std::span<const double> shocks, std::span<double> slopes) const;

  System system_;
  std::size_t stage_;
  StageCuts cuts_;
  std::vector<std::size_t> slots_;
  std::unique_ptr<const ClpSimplex> pristine_;  // never solved
};

}  // namespace sddp
