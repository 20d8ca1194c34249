#include "comm/algorithms/calibrate.hpp"

#include <cobre/comm/detail/fold.hpp>

namespace cobre::comm::algorithms {

double measure_folding() {
  constexpr std::size_t count = 2048;
  const std::vector<double> a(count, 1.0);
  const std::vector<double> b(count, 2.0);
  std::vector<double> sum(count);
  const std::array<const void*, 2> sources{a.data(), b.data()};
  const detail::Fold fold = detail::predefined_fold(ReduceOp::Sum, ElementType::Double);
  double best = 0;
  for (int round = 0; round < 4; ++round) {
    const auto begin = calibration::Clock::now();
    fold.apply(sum.data(), sources.data(), sources.size(), count);
    const double took = calibration::microseconds_since(begin);
    best = round == 0 ? took : std::min(best, took);
  }
  return std::max(best / (count * sizeof(double)), 1e-6);
}

}  // namespace cobre::comm::algorithms
