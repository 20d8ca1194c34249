// Heat spreads along a rod that is cut into one piece a rank. Each piece needs only the two cells beside it, so each
// rank talks to its two neighbours alone: one channel each, both directions at once, while it works on the inside.
#include <cobre/comm.hpp>

#include <cmath>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <vector>

int main() {
  return cobre::comm::run([](const auto& comm) {
    constexpr std::size_t cells = 1000;  // of each rank
    constexpr int steps = 200;
    const std::size_t left_rank = (comm.rank() + comm.size() - 1) % comm.size();
    const std::size_t right_rank = (comm.rank() + 1) % comm.size();

    // What moves to the right and what moves to the left are different conversations: with two ranks both neighbours
    // are the same one, and with one rank it is this rank itself.
    constexpr int rightwards = 0;
    constexpr int leftwards = 1;
    const auto from_left = comm.channel(left_rank, rightwards);
    const auto to_right = comm.channel(right_rank, rightwards);
    const auto from_right = comm.channel(right_rank, leftwards);
    const auto to_left = comm.channel(left_rank, leftwards);

    std::vector<double> heat(cells, 0.0);
    if (comm.rank() == 0) heat[cells / 2] = 100.0;
    std::vector<double> next(cells);
    const auto spread = [](double left, double here, double right) { return here + 0.25 * (left - 2 * here + right); };

    for (int step = 0; step < steps; ++step) {
      // A vector that is moved in belongs to the request, and comes back from get().
      auto left_edge = from_left.irecv(std::vector<double>(1));
      auto right_edge = from_right.irecv(std::vector<double>(1));
      to_right.send(heat.back());
      to_left.send(heat.front());

      for (std::size_t i = 1; i + 1 < cells; ++i) next[i] = spread(heat[i - 1], heat[i], heat[i + 1]);
      next.front() = spread(left_edge.get().front(), heat[0], heat[1]);
      next.back() = spread(heat[cells - 2], heat[cells - 1], right_edge.get().front());
      heat.swap(next);
    }

    const double total = comm.reproducible_sum(std::accumulate(heat.begin(), heat.end(), 0.0));
    if (std::abs(total - 100.0) > 1e-9) throw std::runtime_error("heat was lost on the way");
    if (comm.rank() == 0) std::printf("%zu rank(s): the heat stays %.3f\n", comm.size(), total);
  });
}
