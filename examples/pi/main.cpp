// Pi by throwing darts, on as many ranks as there are. The darts come in blocks with a seed each, so the answer has the
// same bits on one rank and on a hundred; the spread of the blocks tells how far it can be trusted.
//
//   pi [millions of darts]
#include <cobre/comm.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace {

struct Job {
  std::size_t blocks, darts_per_block;
};

double estimate_block(std::size_t block, std::size_t darts) {
  std::mt19937_64 random(block);
  const auto coordinate = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::size_t inside = 0;
  for (std::size_t dart = 0; dart < darts; ++dart) {
    const double x = coordinate(), y = coordinate();
    inside += x * x + y * y < 1.0 ? 1U : 0U;
  }
  return 4.0 * static_cast<double>(inside) / static_cast<double>(darts);
}

void plot(const std::vector<double>& estimates, double mean, double deviation) {
  constexpr int half = 7;  // bins on either side of the mean, each half a standard deviation wide
  std::array<int, 2 * half + 1> bins{};
  const auto bin = [&](double value) {
    return static_cast<std::size_t>(std::clamp(std::lround((value - mean) / deviation * 2.0) + half, 0L, 2L * half));
  };
  for (const double estimate : estimates) ++bins[bin(estimate)];
  for (std::size_t row = 0; row < bins.size(); ++row) {
    const double centre = mean + (static_cast<double>(row) - half) * deviation / 2.0;
    const std::string bar(static_cast<std::size_t>(50 * bins[row] / std::ranges::max(bins)), '#');
    std::printf("  %.5f  %s%s\n", centre, bar.c_str(), row == bin(std::numbers::pi) ? "  <- pi" : "");
  }
}

}  // namespace

int main(int argc, char** argv) {
  return cobre::comm::run([&](const auto& comm) {
    // What rank 0 read from its command line is what all do.
    const std::size_t millions = std::max(1ULL, std::strtoull(argc > 1 ? argv[1] : "100", nullptr, 10));
    const Job job = comm.broadcast(Job{1000, 1000 * millions}, 0);

    const auto begin = std::chrono::steady_clock::now();
    std::vector<double> mine;
    const std::size_t end = (comm.rank() + 1) * job.blocks / comm.size();
    for (std::size_t block = comm.rank() * job.blocks / comm.size(); block < end; ++block)
      mine.push_back(estimate_block(block, job.darts_per_block));
    const std::vector<double> all = comm.allgatherv(mine).values;  // in rank order, hence in the order of the blocks
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    const double slowest = comm.allreduce(time.count(), cobre::comm::ReduceOp::Max);
    if (comm.rank() != 0) return;

    double sum = 0.0, squares = 0.0;
    for (const double estimate : all) sum += estimate;
    const double mean = sum / static_cast<double>(all.size());
    for (const double estimate : all) squares += (estimate - mean) * (estimate - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(all.size() - 1));
    plot(all, mean, deviation);
    std::printf("\n  pi = %.15f +- %.5f   (off by %+.5f)\n", mean,
                deviation / std::sqrt(static_cast<double>(all.size())), mean - std::numbers::pi);
    std::printf("  %zu blocks of %zu darts on %zu rank(s), backend %s, %.2f s\n", job.blocks, job.darts_per_block,
                comm.size(), to_string(comm.topology().backend), slowest);
  });
}
