// Gather, scatter and alltoall: every algorithm, forced, at every number of ranks.

#include <cstring>

#include "algorithms/worlds.hpp"

namespace cobre::comm::test {
namespace {

using algorithms::RootedAlgorithm;
using algorithms::Scratch;
using algorithms::Tuning;
using detail::Parts;

std::vector<std::byte> part(std::size_t from, std::size_t to, std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    values[i] = static_cast<std::byte>(detail::mix((from * 100 + to) * 10007 + i));
  return values;
}

/// Parts of `counts` elements, with gaps between them and the last rank's first.
struct Layout {
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs = std::vector<std::size_t>(counts.size());
  std::size_t length = 2;

  explicit Layout(std::vector<std::size_t> all) : counts(std::move(all)) {
    for (std::size_t r = counts.size(); r-- > 0;) {
      displs[r] = length;
      length += counts[r] + r % 2;
    }
  }
  [[nodiscard]] Parts parts() const { return {counts, displs}; }
};

void place(std::vector<std::byte>& buffer, std::size_t displ, const std::vector<std::byte>& values) {
  std::ranges::copy(values, buffer.begin() + static_cast<std::ptrdiff_t>(displ));
}

std::vector<Tuning> every_tuning() {
  std::vector<Tuning> all(3);
  all[1].rooted = RootedAlgorithm::Linear;
  all[2].rooted = RootedAlgorithm::Binomial;
  return all;
}

constexpr std::size_t element = 3;

class PartsOfRanks : public EveryWorld {};

TEST_P(PartsOfRanks, OfEqualLengthReachTheRootAndLeaveIt) {
  on_every_rank([&](auto& transport) {
    Scratch scratch;
    const std::size_t ranks = transport.size();
    const std::size_t rank = transport.rank();
    for (const Tuning& tuning : every_tuning()) {
      for (std::size_t root = 0; root < ranks; ++root) {
        for (const std::size_t count : {0UL, 1UL, 40UL, 1000UL}) {
          const std::size_t bytes = count * element;
          std::vector<std::byte> all(rank == root ? bytes * ranks : 0);
          const auto send = part(rank, root, bytes);
          algorithms::gather(transport, {send.data(), count, all.data(), Parts(count), element, root}, tuning, scratch);
          for (std::size_t r = 0; r < ranks && rank == root; ++r) {
            const auto expected = part(r, root, bytes);
            require(std::equal(expected.begin(), expected.end(), all.begin() + static_cast<std::ptrdiff_t>(r * bytes)),
                    "gather of " + std::to_string(count) + " to " + std::to_string(root));
          }
          for (std::size_t r = 0; r < ranks && rank == root; ++r) place(all, r * bytes, part(root, r, bytes));
          std::vector<std::byte> recv(bytes);
          algorithms::scatter(transport, {all.data(), Parts(count), recv.data(), count, element, root}, tuning,
                              scratch);
          require(recv == part(root, rank, bytes),
                  "scatter of " + std::to_string(count) + " from " + std::to_string(root));
        }
      }
    }
  });
}

TEST_P(PartsOfRanks, OfAnyLengthArriveInTheirPlacesAndLeaveTheGapsAlone) {
  on_every_rank([&](auto& transport) {
    Scratch scratch;
    const std::size_t ranks = transport.size();
    const std::size_t rank = transport.rank();
    for (const std::size_t kind : {0UL, 1UL, 2UL}) {
      const auto count_of = [&](std::size_t from, std::size_t to) -> std::size_t {
        if (kind == 0) return (3 * from + to) % 5;
        return kind == 1 ? (from == to ? 90 : 0) : 7 * from + 30 * to;
      };
      std::vector<std::size_t> out;
      std::vector<std::size_t> in;
      for (std::size_t r = 0; r < ranks; ++r) out.push_back(count_of(rank, r)), in.push_back(count_of(r, rank));
      const Layout from(out);
      const Layout to(in);
      std::vector<std::byte> send(from.length * element, std::byte{1});
      std::vector<std::byte> expected(to.length * element, std::byte{2});
      for (std::size_t r = 0; r < ranks; ++r) {
        place(send, from.displs[r] * element, part(rank, r, out[r] * element));
        place(expected, to.displs[r] * element, part(r, rank, in[r] * element));
      }
      std::vector<std::byte> recv(expected.size(), std::byte{2});
      algorithms::alltoall(transport, {send.data(), from.parts(), recv.data(), to.parts(), element});
      require(recv == expected, "alltoallv");

      for (std::size_t root = 0; root < ranks; ++root) {
        const bool here = rank == root;
        std::vector<std::byte> gathered(here ? expected.size() : 0, std::byte{2});
        const auto mine = part(rank, root, count_of(rank, root) * element);
        algorithms::gather(
            transport, {mine.data(), count_of(rank, root), gathered.data(), here ? to.parts() : Parts(), element, root},
            Tuning{}, scratch);
        if (here) require(gathered == expected, "gatherv");
        std::vector<std::byte> given(count_of(root, rank) * element);
        algorithms::scatter(transport,
                            {here ? send.data() : nullptr, here ? from.parts() : Parts(), given.data(),
                             count_of(root, rank), element, root},
                            Tuning{}, scratch);
        require(given == part(root, rank, given.size()), "scatterv");
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PartsOfRanks, ::testing::ValuesIn(all_worlds()), name_of);

}  // namespace
}  // namespace cobre::comm::test
