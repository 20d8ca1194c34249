// Reduce, scan and reduce-scatter: every algorithm, forced, at every number of ranks. The callable neither commutes nor
// associates, so any other tree than the canonical one, or any swap, gives another number.

#include <cstring>

#include "algorithms/worlds.hpp"

namespace cobre::comm::test {
namespace {

using algorithms::ReduceAlgorithm;
using algorithms::ReduceScatterAlgorithm;
using algorithms::ReductionThrew;
using algorithms::ScanAlgorithm;
using algorithms::Scratch;
using algorithms::Tuning;
using Numbers = std::vector<std::uint64_t>;

std::uint64_t hash_pair(std::uint64_t left, std::uint64_t right) {
  return detail::mix(3 * left + 1) ^ (5 * right);
}
using Combine = std::uint64_t (*)(std::uint64_t, std::uint64_t);

Numbers values_of(std::size_t rank, std::size_t count) {
  Numbers values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = detail::mix(rank * 1'000'003 + i);
  return values;
}

// The definition, without the library: rank i merges into i & (i - 1), lowest bits first, lower rank on the left.
Numbers expected_of(std::size_t ranks, std::size_t count) {
  std::vector<Numbers> all;
  for (std::size_t rank = 0; rank < ranks; ++rank) all.push_back(values_of(rank, count));
  for (std::size_t bit = 1; bit < ranks; bit *= 2) {
    for (std::size_t rank = 0; rank + bit < ranks; rank += 2 * bit) {
      for (std::size_t i = 0; i < count; ++i) all[rank][i] = hash_pair(all[rank][i], all[rank + bit][i]);
    }
  }
  return all[0];
}

std::vector<Tuning> every_tuning() {
  std::vector<Tuning> all(1);
  for (const auto algorithm : {ReduceAlgorithm::Tree, ReduceAlgorithm::Pairwise}) {
    for (const std::size_t piece : {0UL, 8UL, 24UL, 800UL}) {
      Tuning tuning;
      const bool first = algorithm == ReduceAlgorithm::Tree;
      tuning.reduce = algorithm;
      tuning.scan = first ? ScanAlgorithm::Chain : ScanAlgorithm::RecursiveDoubling;
      tuning.reduce_scatter = first ? ReduceScatterAlgorithm::Tree : ReduceScatterAlgorithm::Pairwise;
      if (piece > 0) tuning.piece_bytes = piece;
      all.push_back(tuning);
    }
  }
  return all;
}

/// A call of hash_pair on these buffers; lives as long as the operation.
template <class Call>
struct Operation {
  Operation(const Numbers& send, Numbers& recv, std::size_t count) {
    call.send = send.data();
    call.recv = recv.data();
    call.count = count;
    call.element_size = sizeof(std::uint64_t);
    call.type = element_type_v<std::uint64_t>;
    call.custom = &fold;
    call.thrown = &combine.error();
  }
  Combine function = hash_pair;
  detail::CallableFold<std::uint64_t, Combine> combine{function};
  detail::Fold fold = combine.fold();
  Call call;
};

class Reductions : public EveryWorld {};

TEST_P(Reductions, GiveTheCanonicalFoldOfTheRanksThatCount) {
  on_every_rank([&](auto& transport) {
    Scratch scratch;
    const std::size_t ranks = transport.size();
    const std::size_t rank = transport.rank();
    for (const Tuning& tuning : every_tuning()) {
      for (const std::size_t count : {0UL, 1UL, 2UL, 7UL, 130UL}) {
        const Numbers send = values_of(rank, count);
        for (std::size_t root = 0; root < ranks; ++root) {
          Numbers recv(rank == root ? count : 0);
          Operation<detail::ReduceCall> reduce(send, recv, count);
          reduce.call.root = root;
          algorithms::reduce(transport, reduce.call, tuning, scratch);
          if (rank == root) require(recv == expected_of(ranks, count), "reduce to " + std::to_string(root));
        }
        for (const bool exclusive : {false, true}) {
          Numbers recv(count, 42);
          Operation<detail::ScanCall> scan(send, recv, count);
          scan.call.exclusive = exclusive;
          algorithms::scan(transport, scan.call, tuning, scratch);
          const std::size_t sources = scan.call.sources(rank);
          require(recv == (sources == 0 ? Numbers(count, 42) : expected_of(sources, count)),
                  exclusive ? "exscan" : "scan");
        }
        const Numbers blocks = values_of(rank, count * ranks);
        Numbers recv(count);
        Operation<detail::ReduceScatterCall> scatter(blocks, recv, count);
        algorithms::reduce_scatter(transport, scatter.call, tuning, scratch);
        const Numbers all = expected_of(ranks, count * ranks);
        require(std::ranges::equal(recv, std::span(all).subspan(rank * count, count)), "reduce_scatter");
        require(send == values_of(rank, count), "the input was changed");
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Reductions, ::testing::ValuesIn(all_worlds()), name_of);

}  // namespace
}  // namespace cobre::comm::test
