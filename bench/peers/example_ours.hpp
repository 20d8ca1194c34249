// The example's exchanges on our side: as training runs them, and once more with every large one through a region that
// all ranks of the node see, where each writes its part and a fence takes the place of the copy.
#pragma once

#include "example.hpp"
#include "our_ranks.hpp"

namespace bench {

template <class Comm>
void run_example(const Comm& comm, const Task& task) {
  OurRanks ranks(comm);
  Example example(comm.rank(), comm.size());
  const auto gather = [&](Exchange& one) { ranks.allgatherv(one.own, one.all, one.parts); };
  const auto sum = [&](const auto& mine, auto& all) { comm.allreduce(mine, all, cobre::comm::ReduceOp::Sum); };
  compete_in_example(
      ranks, task, example, [&] { iterate(example, gather, sum); },
      [](const Exchange& one) { return one.is_right(one.all); });
}

/// Two of each, used in turn: who is still reading the one is not disturbed by who writes the other.
template <class Comm>
class SharedExchange {
 public:
  SharedExchange(const Comm& comm, const Exchange& exchange)
      : most_(exchange.parts.counts[0]),
        region_(comm.template create_shared_region<double>(2 * comm.size() * exchange.parts.counts[0])) {}

  void put(const std::vector<double>& own) {
    turn_ = 1 - turn_;
    std::ranges::copy(own, region_.as_partition_span().begin() + static_cast<std::ptrdiff_t>(turn_ * most_));
    region_.fence();
  }
  /// The same as an allgatherv would have given.
  [[nodiscard]] std::vector<double> all(const Exchange& exchange) const {
    std::vector<double> values(exchange.all.size());
    for (std::size_t r = 0; r < exchange.parts.counts.size(); ++r) {
      const auto part = region_.as_span().subspan((2 * r + turn_) * most_, exchange.parts.counts[r]);
      std::ranges::copy(part, values.begin() + static_cast<std::ptrdiff_t>(exchange.parts.displs[r]));
    }
    return values;
  }

 private:
  std::size_t most_;
  std::size_t turn_ = 0;
  decltype(std::declval<const Comm&>().template create_shared_region<double>(1)) region_;
};

template <class Comm>
void run_example_in_regions(const Comm& comm, const Task& task) {
  OurRanks ranks(comm);
  Example example(comm.rank(), comm.size());
  SharedExchange<Comm> visited(comm, example.visited);
  SharedExchange<Comm> cuts(comm, example.cuts);
  const auto gather = [&](Exchange& one) {
    if (&one == &example.visited) {
      visited.put(one.own);
    } else if (&one == &example.cuts) {
      cuts.put(one.own);
    } else {
      ranks.allgatherv(one.own, one.all, one.parts);
    }
  };
  const auto sum = [&](const auto& mine, auto& all) { comm.allreduce(mine, all, cobre::comm::ReduceOp::Sum); };
  compete_in_example(
      ranks, task, example, [&] { iterate(example, gather, sum); },
      [&](const Exchange& one) {
        if (&one == &example.visited) return one.is_right(visited.all(one));
        if (&one == &example.cuts) return one.is_right(cuts.all(one));
        return one.is_right(one.all);
      });
}

}  // namespace bench
