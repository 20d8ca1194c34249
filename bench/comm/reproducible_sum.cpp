// The sum that does not depend on the ranks, beside what it stands for: a plain sum of each rank's numbers and an
// allreduce of those. In turns, each batch as the slowest rank saw it; a ratio is the median of those of neighbours.
//
//   bench_reproducible_sum <title>      started by a launcher, or alone

#include <cobre/comm.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "peers/our_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;

struct Point {
  std::size_t count;  // of the numbers of a rank
  double most;        // of the time of the other that it may take
};
constexpr std::array points{Point{1, 1.0}, Point{1000, 4.0}, Point{1'000'000, 4.0}};

std::vector<double> numbers_of(std::size_t rank, std::size_t count) {
  std::mt19937_64 generator(1 + rank);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(generator);
  return values;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void require(bool right) {
  if (!right) throw std::runtime_error("wrong sum");
}

template <class Comm>
void measure(const Comm& comm, const Point& point) {
  const auto mine = numbers_of(comm.rank(), point.count);
  cobre::comm::detail::ExactSum exact;
  for (std::size_t rank = 0; rank < comm.size(); ++rank) {
    const auto theirs = numbers_of(rank, point.count);
    exact.add(std::span<const double>(theirs));
  }
  const double expected = exact.to_double();
  const bool one_value = point.count == 1;
  const auto plain = [&] {
    const double own = one_value ? mine[0] : std::accumulate(mine.begin(), mine.end(), 0.0);
    const double sum = comm.allreduce(own, ReduceOp::Sum);
    require(std::abs(sum - expected) <= 1e-12 * static_cast<double>(point.count * comm.size()));
  };
  const auto reproducible = [&] {
    require((one_value ? comm.reproducible_sum(mine[0]) : comm.reproducible_sum(mine)) == expected);
  };

  bench::OurRanks ranks(comm);
  constexpr bench::Pace pace{2000.0, 12'000.0};
  std::array<std::vector<double>, 2> times;
  for (int round = 0; round < 40; ++round) {
    // Whoever comes second finds what the first has left in the caches, so they change places.
    for (const int turn : {round % 2, 1 - round % 2}) {
      const auto sampled = turn == 0 ? bench::sample(ranks, 1, pace, [&](std::size_t) { plain(); })
                                     : bench::sample(ranks, 1, pace, [&](std::size_t) { reproducible(); });
      times[static_cast<std::size_t>(turn)].push_back(median(sampled));
    }
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < times[0].size(); ++i) ratios.push_back(times[1][i] / times[0][i]);
  const double ratio = median(ratios);
  if (comm.rank() != 0) return;
  std::printf("%10zu %14.3f %14.3f %9.2f %10.1f%s\n", point.count, median(times[0]), median(times[1]), ratio,
              point.most, ratio <= point.most ? "" : "  <- misses its bar");
}

}  // namespace

int main(int argc, char** argv) {
  return cobre::comm::run([&](const auto& comm) {
    if (comm.rank() == 0) {
      std::printf("reproducible_sum, %s, %zu rank(s)\n%10s %14s %14s %9s %10s\n", argc > 1 ? argv[1] : "alone",
                  comm.size(), "numbers", "allreduce us", "this us", "ratio", "wanted");
    }
    for (const Point& point : points) {
      if (comm.size() > 1 || point.count > 1) measure(comm, point);  // the sum of one number is that number
    }
  });
}
