// A few numbers for many.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace cobre::command::bench {

/// The smallest of the values that is not below the share `q` of them. Needs one value at least.
[[nodiscard]] inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const auto place = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
  return values[std::min(std::max<std::size_t>(place, 1), values.size()) - 1];
}

struct Summary {
  double median = 0;
  double p99 = 0;
  double min = 0;
  std::optional<double> noise;  // half of the spread of the rounds' medians, as a share of the median
};

/// Of the samples of all rounds. How far the rounds of one and the same program are apart is the noise floor: nothing
/// smaller can be said.
[[nodiscard]] inline Summary summarise(const std::vector<std::vector<double>>& rounds) {
  std::vector<double> all;
  std::vector<double> medians;
  for (const auto& round : rounds) {
    all.insert(all.end(), round.begin(), round.end());
    medians.push_back(quantile(round, 0.5));
  }
  Summary summary{quantile(all, 0.5), quantile(all, 0.99), *std::ranges::min_element(all), std::nullopt};
  const auto [least, most] = std::ranges::minmax(medians);
  if (rounds.size() > 1 && summary.median > 0) summary.noise = (most - least) / 2 / summary.median;
  return summary;
}

}  // namespace cobre::command::bench
