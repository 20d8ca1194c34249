// Every algorithm of barrier, broadcast and allgatherv, forced, at every number of ranks.

#include <cstring>

#include "algorithms/worlds.hpp"

namespace cobre::comm::test {
namespace {

using algorithms::AllgathervAlgorithm;
using algorithms::BroadcastAlgorithm;
using algorithms::Scratch;
using algorithms::Tuning;

std::vector<std::byte> bytes_of(std::size_t rank, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(detail::mix(rank * 1000003 + i));
  return bytes;
}

template <class Algorithm>
std::vector<Tuning> every_tuning(std::optional<Algorithm> Tuning::*which, std::initializer_list<Algorithm> algorithms) {
  std::vector<Tuning> all(1);
  for (const Algorithm algorithm : algorithms) {
    for (const std::size_t piece : {0UL, 1UL, 7UL, 64UL}) {
      Tuning tuning;
      tuning.*which = algorithm;
      if (piece > 0) tuning.piece_bytes = piece;
      all.push_back(tuning);
    }
  }
  return all;
}

class Barrier : public EveryWorld {};

TEST_P(Barrier, LetsNobodyLeaveBeforeAllHaveCome) {
  constexpr std::size_t rounds = 50;
  std::array<std::atomic<std::size_t>, rounds> entered{};
  on_every_rank([&](auto& transport) {
    for (std::size_t round = 0; round < rounds; ++round) {
      ++entered[round];
      algorithms::barrier(transport);
      require(entered[round] == transport.size(), "a rank was still outside");
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Barrier, ::testing::ValuesIn(all_worlds()), name_of);

class Broadcast : public EveryWorld {};

TEST_P(Broadcast, GivesEveryoneTheBytesOfAnyRoot) {
  const auto tunings = every_tuning(&Tuning::broadcast, {BroadcastAlgorithm::Binomial, BroadcastAlgorithm::Chain,
                                                         BroadcastAlgorithm::ScatterAllgather});
  on_every_rank([&](auto& transport) {
    for (const Tuning& tuning : tunings) {
      for (std::size_t root = 0; root < transport.size(); ++root) {
        for (const std::size_t count : {0UL, 1UL, 2UL, 8UL, 65UL, 1001UL}) {
          if (tuning.piece_bytes == 1 && count > 100) continue;
          const auto expected = bytes_of(root, count);
          auto data = transport.rank() == root ? expected : bytes_of(transport.rank(), count);
          algorithms::broadcast(transport, detail::BroadcastCall{data.data(), count, root}, tuning);
          require(data == expected, std::to_string(count) + " bytes of rank " + std::to_string(root));
        }
      }
    }
  });
}

TEST_P(Broadcast, OfNothingIsHeardByEveryone) {
  std::atomic<bool> entered = false;
  on_every_rank([&](auto& transport) {
    if (transport.rank() == transport.size() - 1) entered = true;
    algorithms::broadcast(transport, detail::BroadcastCall{nullptr, 0, transport.size() - 1}, Tuning{});
    require(entered, "a rank left before the root had come");
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Broadcast, ::testing::ValuesIn(all_worlds()), name_of);

class Allgatherv : public EveryWorld {
 protected:
  // With gaps, and with the blocks of even ranks behind those of odd ones.
  struct Layout {
    std::vector<std::size_t> counts;
    std::vector<std::size_t> displs = std::vector<std::size_t>(counts.size());
    std::size_t length = 3;

    explicit Layout(std::vector<std::size_t> all) : counts(std::move(all)) {
      for (const std::size_t parity : {1UL, 0UL}) {
        for (std::size_t r = parity; r < counts.size(); r += 2) {
          displs[r] = length;
          length += counts[r] + r % 3;
        }
      }
    }
  };

  static std::vector<Layout> every_layout(std::size_t ranks) {
    const auto by_rank = [&](auto count_of) {
      std::vector<std::size_t> counts(ranks);
      for (std::size_t r = 0; r < ranks; ++r) counts[r] = count_of(r);
      return Layout(counts);
    };
    return {by_rank([](std::size_t) { return 0UL; }),
            by_rank([](std::size_t) { return 1UL; }),
            by_rank([](std::size_t) { return 37UL; }),
            by_rank([](std::size_t r) { return r * r; }),
            by_rank([](std::size_t r) { return r % 2 * 5; }),
            by_rank([&](std::size_t r) { return r == 0 ? 300UL : 0UL; }),
            by_rank([&](std::size_t r) { return r == ranks - 1 ? 300UL : 1UL; }),
            by_rank([&](std::size_t r) { return r == ranks / 2 ? 0UL : 70UL - 7 * r; })};
  }

  template <std::size_t ElementSize, class Endpoint>
  static void check(Endpoint& transport, const Layout& layout, const Tuning& tuning, Scratch& scratch) {
    const auto send = bytes_of(transport.rank(), layout.counts[transport.rank()] * ElementSize);
    std::vector<std::byte> recv(layout.length * ElementSize, std::byte{0x5a});
    auto expected = recv;
    for (std::size_t r = 0; r < layout.counts.size(); ++r) {
      const auto block = bytes_of(r, layout.counts[r] * ElementSize);
      std::ranges::copy(block, expected.begin() + static_cast<std::ptrdiff_t>(layout.displs[r] * ElementSize));
    }
    const detail::AllgathervCall call{send.data(), recv.data(), layout.counts, layout.displs, ElementSize};
    algorithms::allgatherv(transport, call, tuning, scratch);
    require(recv == expected,
            "blocks of " + std::to_string(layout.counts[0]) + "… elements of " + std::to_string(ElementSize));
  }
};

TEST_P(Allgatherv, PutsEveryBlockInItsPlaceAndLeavesTheGapsAlone) {
  const auto tunings = every_tuning(&Tuning::allgatherv, {AllgathervAlgorithm::Bruck, AllgathervAlgorithm::Ring});
  on_every_rank([&](auto& transport) {
    Scratch scratch;
    for (const Tuning& tuning : tunings) {
      for (const Layout& layout : every_layout(transport.size())) {
        check<1>(transport, layout, tuning, scratch);
        if (tuning.piece_bytes != 1) check<12>(transport, layout, tuning, scratch);
      }
    }
  });
}

TEST_P(Allgatherv, OfNothingLetsNobodyLeaveBeforeAllHaveCome) {
  for (const AllgathervAlgorithm algorithm : {AllgathervAlgorithm::Bruck, AllgathervAlgorithm::Ring}) {
    std::atomic<std::size_t> entered = 0;
    on_every_rank([&](auto& transport) {
      Tuning tuning;
      tuning.allgatherv = algorithm;
      Scratch scratch;
      const std::vector<std::size_t> zeros(transport.size(), 0);
      ++entered;
      algorithms::allgatherv(transport, detail::AllgathervCall{nullptr, nullptr, zeros, zeros, 8}, tuning, scratch);
      require(entered == transport.size(), "a rank was still outside");
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Allgatherv, ::testing::ValuesIn(all_worlds()), name_of);

}  // namespace
}  // namespace cobre::comm::test
