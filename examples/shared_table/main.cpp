// A table that all ranks of a node read and that exists once on it: one rank fills, all wait at the fence, all read the
// same pages. Where nothing can be shared each rank is a leader of its own, and the program is right all the same.
#include <cobre/comm.hpp>

#include <cmath>
#include <cstdio>
#include <stdexcept>

int main() {
  return cobre::comm::run([](const auto& comm) {
    constexpr std::size_t entries = 1 << 20;
    auto table = comm.template create_shared_region<double>(entries);

    if (comm.is_leader()) {
      const auto fill = table.as_mut_span();
      for (std::size_t i = 0; i < fill.size(); ++i) fill[i] = std::sqrt(static_cast<double>(i));
    }
    table.fence();

    double sum = 0.0;  // each rank reads its part, interleaved
    for (std::size_t i = comm.rank(); i < entries; i += comm.size()) sum += table.as_span()[i] * table.as_span()[i];
    const double total = comm.allreduce(sum, cobre::comm::ReduceOp::Sum);
    const double expected = 0.5 * static_cast<double>(entries) * static_cast<double>(entries - 1);
    if (std::abs(total / expected - 1.0) > 1e-12) throw std::runtime_error("the table is not what was written");

    const int leaders = comm.allreduce(comm.is_leader() ? 1 : 0, cobre::comm::ReduceOp::Sum);
    if (comm.rank() == 0) {
      std::printf("%zu rank(s) read %d table(s) of %zu MiB\n", comm.size(), leaders, entries * sizeof(double) >> 20);
    }
  });
}
