// The sum that does not depend on the ranks, beside what it stands for: a plain sum of each rank's numbers and an
// allreduce of those. In turns, each batch as the slowest rank saw it; a ratio is the median of those of neighbours.
// The plain sum has two turns: how far it is from itself is the noise. Exit code 1 where a bar is missed by more.
//
//   bench_reproducible_sum <title>      started by a launcher, or alone

#include <cobre/comm.hpp>

#include <unistd.h>

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
// For 10^6 numbers 4 times is allowed, for one number a rank nothing.
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

// Ranks that share a core leave a barrier far apart: only a long batch makes that small.
bench::Pace pace_of(std::size_t ranks) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);  // of the machine: each rank may be bound to one
  const bool crowded = cores > 0 && ranks > static_cast<std::size_t>(cores);
  return crowded ? bench::Pace{8000.0, 24'000.0} : bench::Pace{2000.0, 12'000.0};
}

double median_ratio(const std::vector<double>& times, const std::vector<double>& to) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < times.size(); ++i) ratios.push_back(times[i] / to[i]);
  return median(ratios);
}

// Whether it is as fast as it should be. All ranks have the same times, and say the same.
template <class Comm>
bool measure(const Comm& comm, const Point& point) {
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
  const bench::Pace pace = pace_of(comm.size());
  enum { Plain, PlainAgain, Reproducible };
  std::array order{Plain, PlainAgain, Reproducible};
  std::array<std::vector<double>, order.size()> times;
  std::mt19937 shuffled(1);
  for (int round = 0; round < 40; ++round) {
    // Whoever comes next finds what the last has left in the caches, so they change places, on all ranks alike.
    std::shuffle(order.begin(), order.end(), shuffled);
    for (const auto turn : order) {
      const auto sampled = turn == Reproducible ? bench::sample(ranks, 1, pace, [&](std::size_t) { reproducible(); })
                                                : bench::sample(ranks, 1, pace, [&](std::size_t) { plain(); });
      times[turn].push_back(median(sampled));
    }
  }
  const double noise = std::abs(median_ratio(times[PlainAgain], times[Plain]) - 1);
  const double ratio = median_ratio(times[Reproducible], times[Plain]);
  const bool met = ratio <= point.most + noise;
  if (comm.rank() == 0) {
    std::printf("%10zu %14.3f %14.3f %9.2f %6.1f%% %8.1f%s\n", point.count, median(times[Plain]),
                median(times[Reproducible]), ratio, 100 * noise, point.most, met ? "" : "  <- misses its bar");
    std::fflush(stdout);
  }
  return met;
}

}  // namespace

int main(int argc, char** argv) {
  return cobre::comm::run([&](const auto& comm) {
    if (comm.rank() == 0) {
      std::printf("reproducible_sum, %s, %zu rank(s)\n%10s %14s %14s %9s %7s %8s\n", argc > 1 ? argv[1] : "alone",
                  comm.size(), "numbers", "allreduce us", "this us", "ratio", "noise", "wanted");
    }
    bool met = true;
    for (const Point& point : points) {
      // Of one rank the sum of one number is that number.
      if (comm.size() > 1 || point.count > 1) met = measure(comm, point) && met;
    }
    return met ? 0 : 1;
  });
}
