// Our side: the pattern as training runs it, and once more with every exchange through a region that all ranks of the
// node see, where each writes its part and a fence takes the place of the copy.
#include <cobre/comm.hpp>

#include <array>

#include "pattern.hpp"

namespace {

using namespace pattern;
using cobre::comm::ReduceOp;

template <class C>
void by_allgatherv(const C& comm) {
  const std::size_t rank = comm.rank(), size = comm.size();
  const Shares visited(scenarios, (stages - 1) * state, size), cuts(scenarios, cut, size),
      bounds(scenarios + openings, 1, size);
  std::vector<double> my_visited(visited.counts[rank], 1.0), my_cuts(cuts.counts[rank], 2.0),
      my_bounds(bounds.counts[rank]);
  std::vector<double> all_visited(scenarios * (stages - 1) * state), all_cuts(scenarios * cut),
      all_bounds(scenarios + openings);
  const std::array<std::uint64_t, 3> effort{1, 2, 3};
  std::array<std::uint64_t, 3> sums{};
  measure(
      "allgatherv", rank == 0,
      [&] {
        comm.allgatherv(my_visited, all_visited, visited.counts, visited.displs);
        for (std::size_t stage = 0; stage + 1 < stages; ++stage) {
          comm.allgatherv(my_cuts, all_cuts, cuts.counts, cuts.displs);
        }
        comm.allgatherv(my_bounds, all_bounds, bounds.counts, bounds.displs);
        comm.allreduce(effort, sums, ReduceOp::Sum);
      },
      [&](double time) { return comm.allreduce(time, ReduceOp::Max); });
}

template <class C>
void by_region(const C& comm) {
  const std::size_t rank = comm.rank(), size = comm.size();
  const Shares visited(scenarios, (stages - 1) * state, size), cuts(scenarios, cut, size);
  std::vector<double> my_visited(visited.counts[rank], 1.0), my_cuts(cuts.counts[rank], 2.0);
  // Two of each, used in turn: who is still reading the one is not disturbed by who writes the other.
  auto all_visited = comm.template create_shared_region<double>(2 * size * visited.counts[0]);
  auto all_cuts = comm.template create_shared_region<double>(2 * size * cuts.counts[0]);
  std::size_t turn = 0;
  const auto exchange = [&](const std::vector<double>& mine, auto& region, std::size_t most) {
    const auto part = region.as_partition_span();  // the same part each time, of 2 * most numbers
    std::ranges::copy(mine, part.begin() + static_cast<std::ptrdiff_t>(turn * most));
    region.fence();
  };
  const std::array<std::uint64_t, 3> effort{1, 2, 3};
  std::array<std::uint64_t, 3> sums{};
  const Shares bounds(scenarios + openings, 1, size);
  std::vector<double> my_bounds(bounds.counts[rank]), all_bounds(scenarios + openings);
  measure(
      "region", rank == 0,
      [&] {
        turn = 1 - turn;
        exchange(my_visited, all_visited, visited.counts[0]);
        for (std::size_t stage = 0; stage + 1 < stages; ++stage) {
          turn = 1 - turn;
          exchange(my_cuts, all_cuts, cuts.counts[0]);
        }
        comm.allgatherv(my_bounds, all_bounds, bounds.counts, bounds.displs);
        comm.allreduce(effort, sums, ReduceOp::Sum);
      },
      [&](double time) { return comm.allreduce(time, ReduceOp::Max); });
}

}  // namespace

int main() {
  return cobre::comm::run([](const auto& comm) {
    by_allgatherv(comm);
    by_region(comm);
  });
}
