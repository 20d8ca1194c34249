// Which cuts are worth a row: those that are the highest at one of the states that were visited (level 1 dominance).
// Every rank knows all cuts and all states, so all come to the same choice without a word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "cuts.hpp"

namespace sddp {

class CutSelection {
 public:
  CutSelection(const Dimensions& d, bool selecting) : width_(d.state()), selecting_(selecting), stages_(d.stages) {}

  /// The slots that get a row: the chosen ones, and all that are younger than the choice.
  [[nodiscard]] std::vector<std::size_t> slots(std::size_t stage, std::size_t count) const {
    std::vector<std::size_t> slots;
    const std::vector<Best>& best = stages_[stage];
    if (selecting_) {
      for (const Best& state : best) slots.push_back(state.slot);
      std::ranges::sort(slots);
      slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    }
    const std::size_t judged = selecting_ ? best.size() : 0, chosen = slots.size();
    slots.resize(chosen + count - judged);
    std::iota(slots.begin() + static_cast<std::ptrdiff_t>(chosen), slots.end(), judged);
    return slots;
  }

  /// Looks at the cuts and states of a stage that came since the last time: one state a cut.
  void learn(std::size_t stage, const StageCuts& cuts, std::span<const double> settled, std::span<const double> fresh) {
    if (!selecting_) return;
    std::vector<Best>& best = stages_[stage];
    const std::size_t known = best.size();
    best.resize(cuts.count());
    for (std::size_t state = 0; state < best.size(); ++state) {
      const std::size_t at = state * width_;
      const auto point = at < settled.size() ? settled.subspan(at, width_) : fresh.subspan(at - settled.size(), width_);
      for (std::size_t slot = state < known ? known : 0; slot < cuts.count(); ++slot) {
        const double height = cuts[slot].at(point);
        if (height > best[state].height) best[state] = {height, slot};  // of equals the oldest stays
      }
    }
  }

 private:
  struct Best {
    double height = -std::numeric_limits<double>::infinity();
    std::size_t slot = 0;
  };
  std::size_t width_;
  bool selecting_;
  std::vector<std::vector<Best>> stages_;  // by stage, then by state
};

}  // namespace sddp
