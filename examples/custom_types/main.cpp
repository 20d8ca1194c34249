// A struct of one's own, moved like any number, and reduced by a function of one's own: the mean and the spread of
// values that are spread over the ranks, each seen once.
#include <cobre/comm.hpp>

#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace {

struct Moments {
  double count = 0.0, mean = 0.0, squares = 0.0;  // squares: of the distances from the mean

  void add(double value) {
    count += 1.0;
    const double before = value - mean;
    mean += before / count;
    squares += before * (value - mean);
  }
};

}  // namespace

int main() {
  return cobre::comm::run([](const auto& comm) {
    constexpr std::size_t values = 10'000;
    Moments mine;
    for (std::size_t i = comm.rank(); i < values; i += comm.size()) mine.add(static_cast<double>(i));

    // Any callable works, also one with captures. It is called with the lower rank on the left; it need not commute.
    const Moments all = comm.allreduce(mine, [](const Moments& a, const Moments& b) {
      if (a.count + b.count == 0.0) return a;
      const double count = a.count + b.count, apart = b.mean - a.mean;
      return Moments{count, a.mean + apart * b.count / count,
                     a.squares + b.squares + apart * apart * a.count * b.count / count};
    });

    const double variance = all.squares / all.count, expected = (static_cast<double>(values) * values - 1.0) / 12.0;
    if (std::abs(variance / expected - 1.0) > 1e-9) throw std::runtime_error("the moments are wrong");
    if (comm.rank() == 0) std::printf("mean %.1f, variance %.0f\n", all.mean, variance);
  });
}
