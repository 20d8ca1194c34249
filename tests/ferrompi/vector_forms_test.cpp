// The v-operations in every form: parts from nothing to a megabyte, in any order, with gaps between them that stay
// as they were.
#include "ferrompi/ranks.hpp"

#include <concepts>
#include <numeric>

using namespace ferrompi;

namespace {

using Buffer = std::vector<double>;

constexpr int rounds = 4;
constexpr double untouched = -1;
constexpr std::size_t megabyte = std::size_t{1} << 20;

double value(int from, int to, std::size_t place, int round) {
  return 1e6 * (round + 1) + 1e4 * from + 1e2 * to + static_cast<double>(place % 97);
}

// How the parts of all ranks lie in a buffer.
template <class Integer>
struct Plan {
  std::vector<Integer> counts;
  std::vector<Integer> displs;
  std::size_t length = 0;
};

// Rank r's part has r+1 units, but every third part is empty; the parts lie in reverse order with a gap before the
// first and one behind each. So even the part of a rank that is alone does not lie at the beginning.
template <class Integer>
Plan<Integer> plan(std::size_t ranks, std::size_t unit) {
  Plan<Integer> result;
  result.length = 2;
  result.counts.resize(ranks);
  result.displs.resize(ranks);
  for (std::size_t r = 0; r < ranks; ++r) result.counts[r] = static_cast<Integer>(r % 3 == 2 ? 0 : (r + 1) * unit);
  for (std::size_t r = ranks; r-- > 0;) {
    result.displs[r] = static_cast<Integer>(result.length);
    result.length += static_cast<std::size_t>(result.counts[r]) + 3;
  }
  return result;
}

template <class Integer>
class VectorForms : public Ranks {
 protected:
  // With the longest unit the longest part is a megabyte. The width of the integers chooses the function that moves it,
  // so megabytes move with one type that an int holds and with one that it does not.
  std::vector<std::size_t> units() const {
    if (!std::same_as<Integer, int> && !std::same_as<Integer, std::size_t>) return {1, 400};
    return {1, 400, megabyte / sizeof(double) / (ranks % 3 == 0 ? ranks - 1 : ranks)};
  }
  std::vector<int> roots() const { return size == 1 ? std::vector<int>{0} : std::vector<int>{0, size - 1}; }

  static std::size_t length(const Plan<Integer>& plan, std::size_t r) {
    return static_cast<std::size_t>(plan.counts[r]);
  }

  // The whole buffer with the parts of all ranks in place, made by `part(r)`.
  template <class Part>
  Buffer whole(const Plan<Integer>& plan, Part part) const {
    Buffer data(plan.length, untouched);
    for (std::size_t r = 0; r < ranks; ++r) put(data, plan, r, part(static_cast<int>(r)));
    return data;
  }

  static void put(Buffer& data, const Plan<Integer>& plan, std::size_t r, const Buffer& part) {
    std::ranges::copy(part, data.begin() + static_cast<std::ptrdiff_t>(plan.displs[r]));
  }

  static Buffer part(int from, int to, std::size_t count, int round) {
    Buffer data(count);
    for (std::size_t i = 0; i < count; ++i) data[i] = value(from, to, i, round);
    return data;
  }
};

using IntegerTypes = testing::Types<int, std::size_t, std::uint32_t, short>;
TYPED_TEST_SUITE(VectorForms, IntegerTypes);

}  // namespace

#define RUN_FORMS(name, suffix, fill, expect, ...)                  \
  do {                                                              \
    for (int round = 0; round < 2; ++round) {                       \
      fill(round);                                                  \
      this->world.name##suffix(__VA_ARGS__);                        \
      expect(round, #name #suffix);                                 \
      fill(round + 10);                                             \
      auto request = this->world.i##name##suffix(__VA_ARGS__);      \
      request.wait();                                               \
      expect(round + 10, "i" #name #suffix);                        \
    }                                                               \
    auto persistent = this->world.name##_init##suffix(__VA_ARGS__); \
    for (int round = 0; round < rounds; ++round) {                  \
      fill(round + 20);                                             \
      persistent.start();                                           \
      persistent.wait();                                            \
      expect(round + 20, #name "_init" #suffix);                    \
    }                                                               \
  } while (false)

TYPED_TEST(VectorForms, GathervPutsEveryPartInItsPlaceOnTheRoot) {
  const int me = this->rank;
  for (const auto unit : this->units()) {
    const auto plan = ::plan<TypeParam>(this->ranks, unit);
    const auto own = this->length(plan, this->self);
    for (const int root : this->roots()) {
      const auto none = std::vector<TypeParam>();
      const auto& counts = me == root ? plan.counts : none;
      const auto& displs = me == root ? plan.displs : none;
      Buffer send(own);
      Buffer recv(me == root ? plan.length : 0);
      const auto fill = [&](int round) {
        std::ranges::copy(this->part(me, root, own, round), send.begin());
        std::ranges::fill(recv, untouched);
      };
      const auto gathered = [&](int round) {
        return this->whole(
            plan, [&](int r) { return this->part(r, root, this->length(plan, static_cast<std::size_t>(r)), round); });
      };
      const auto expect = [&](int round, const char* form) {
        if (me == root) {
          ASSERT_EQ(recv, gathered(round)) << form << " to " << root;
        }
      };
      RUN_FORMS(gatherv, , fill, expect, send, recv, counts, displs, root);
      Buffer both(me == root ? plan.length : own);
      const auto fill_in_place = [&](int round) {
        std::ranges::fill(both, untouched);
        const auto mine = this->part(me, root, own, round);
        if (me == root) {
          this->put(both, plan, this->self, mine);
        } else {
          std::ranges::copy(mine, both.begin());
        }
      };
      const auto expect_in_place = [&](int round, const char* form) {
        ASSERT_EQ(both, me == root ? gathered(round) : this->part(me, root, own, round)) << form << " to " << root;
      };
      RUN_FORMS(gatherv, _inplace, fill_in_place, expect_in_place, both, counts, displs, root);
    }
  }
}

TYPED_TEST(VectorForms, ScattervGivesEachRankItsPart) {
  const int me = this->rank;
  for (const auto unit : this->units()) {
    const auto plan = ::plan<TypeParam>(this->ranks, unit);
    const auto own = this->length(plan, this->self);
    for (const int root : this->roots()) {
      const auto none = std::vector<TypeParam>();
      const auto& counts = me == root ? plan.counts : none;
      const auto& displs = me == root ? plan.displs : none;
      const auto scattered = [&](int round) {
        return this->whole(
            plan, [&](int r) { return this->part(root, r, this->length(plan, static_cast<std::size_t>(r)), round); });
      };
      Buffer send(me == root ? plan.length : 0);
      Buffer recv(own);
      const auto fill = [&](int round) {
        if (me == root) std::ranges::copy(scattered(round), send.begin());
        std::ranges::fill(recv, untouched);
      };
      const auto expect = [&](int round, const char* form) {
        ASSERT_EQ(recv, this->part(root, me, own, round)) << form << " from " << root;
      };
      RUN_FORMS(scatterv, , fill, expect, send, counts, displs, recv, root);
      Buffer both(me == root ? plan.length : own);
      const auto fill_in_place = [&](int round) {
        std::ranges::fill(both, untouched);
        if (me == root) std::ranges::copy(scattered(round), both.begin());
      };
      const auto expect_in_place = [&](int round, const char* form) {
        ASSERT_EQ(both, me == root ? scattered(round) : this->part(root, me, own, round)) << form;
      };
      RUN_FORMS(scatterv, _inplace, fill_in_place, expect_in_place, both, counts, displs, root);
    }
  }
}

TYPED_TEST(VectorForms, AllgathervPutsEveryPartInItsPlaceEverywhere) {
  const int me = this->rank;
  for (const auto unit : this->units()) {
    const auto plan = ::plan<TypeParam>(this->ranks, unit);
    const auto own = this->length(plan, this->self);
    Buffer send(own);
    Buffer recv(plan.length);
    const auto fill = [&](int round) {
      std::ranges::copy(this->part(me, 0, own, round), send.begin());
      std::ranges::fill(recv, untouched);
    };
    const auto expect = [&](int round, const char* form) {
      const auto expected = this->whole(
          plan, [&](int r) { return this->part(r, 0, this->length(plan, static_cast<std::size_t>(r)), round); });
      ASSERT_EQ(recv, expected) << form;
    };
    RUN_FORMS(allgatherv, , fill, expect, send, recv, plan.counts, plan.displs);
    const auto fill_in_place = [&](int round) {
      std::ranges::fill(recv, untouched);
      this->put(recv, plan, this->self, this->part(me, 0, own, round));
    };
    RUN_FORMS(allgatherv, _inplace, fill_in_place, expect, recv, plan.counts, plan.displs);
  }
}

TYPED_TEST(VectorForms, AlltoallvExchangesPartsOfAnyLength) {
  const int me = this->rank;
  for (const auto unit : this->units()) {
    // Rank i sends i+j units to me j, and nothing to itself on odd ranks: what i sends to j is as long as j to i.
    Plan<TypeParam> plan;
    for (std::size_t r = 0; r < this->ranks; ++r) {
      const auto count = r == this->self && r % 2 == 1 ? 0 : (this->self + r) * unit;
      plan.counts.push_back(static_cast<TypeParam>(count));
      plan.displs.push_back(static_cast<TypeParam>(plan.length));
      plan.length += count + 2;
    }
    const auto sent = [&](int round) {
      return this->whole(
          plan, [&](int r) { return this->part(me, r, this->length(plan, static_cast<std::size_t>(r)), round); });
    };
    const auto received = [&](int round) {
      return this->whole(
          plan, [&](int r) { return this->part(r, me, this->length(plan, static_cast<std::size_t>(r)), round); });
    };
    Buffer send(plan.length);
    Buffer recv(plan.length);
    const auto fill = [&](int round) {
      std::ranges::copy(sent(round), send.begin());
      std::ranges::fill(recv, untouched);
    };
    const auto expect = [&](int round, const char* form) { ASSERT_EQ(recv, received(round)) << form; };
    RUN_FORMS(alltoallv, , fill, expect, send, plan.counts, plan.displs, recv, plan.counts, plan.displs);
    const auto expect_in_place = [&](int round, const char* form) { ASSERT_EQ(send, received(round)) << form; };
    RUN_FORMS(alltoallv, _inplace, fill, expect_in_place, send, plan.counts, plan.displs);
  }
}

class OneLineForms : public Ranks {
 protected:
  std::vector<int> own() const { return std::vector<int>(self + 1, rank); }
  std::vector<int> everybodys() const {
    std::vector<int> all;
    for (int r = 0; r < size; ++r) all.insert(all.end(), static_cast<std::size_t>(r) + 1, r);
    return all;
  }
};

TEST_F(OneLineForms, AllgathervWorksOutCountsAndDisplacements) {
  const auto all = world.allgatherv(own());
  EXPECT_EQ(all.values, everybodys());
  for (std::size_t r = 0; r < ranks; ++r) {
    EXPECT_EQ(all.counts[r], r + 1);
    EXPECT_EQ(all.displs[r], r * (r + 1) / 2);
  }
}

TEST_F(OneLineForms, AllgathervOfNothingAnywhereIsEmpty) {
  const auto all = world.allgatherv(std::vector<double>());
  EXPECT_TRUE(all.values.empty());
  EXPECT_EQ(all.counts, std::vector<std::size_t>(ranks, 0));
}

TEST_F(OneLineForms, GathervGivesTheRootAllPartsAndOthersNothing) {
  for (int root = 0; root < size; ++root) {
    const auto all = world.gatherv(own(), root);
    EXPECT_EQ(all.values, rank == root ? everybodys() : std::vector<int>());
    EXPECT_EQ(all.counts.size(), rank == root ? ranks : 0U);
  }
}

TEST_F(OneLineForms, ScattervGivesEachRankItsPart) {
  for (int root = 0; root < size; ++root) {
    std::vector<int> counts(rank == root ? ranks : 0);
    std::iota(counts.begin(), counts.end(), 1);
    EXPECT_EQ(world.scatterv(rank == root ? everybodys() : std::vector<int>(), counts, root), own());
  }
}

TEST_F(OneLineForms, AlltoallvTellsHowMuchCameFromWhom) {
  // Rank i sends j+1 copies of 10i+j to rank j.
  std::vector<int> send;
  std::vector<std::size_t> counts;
  for (int r = 0; r < size; ++r) {
    counts.push_back(static_cast<std::size_t>(r) + 1);
    send.insert(send.end(), counts.back(), 10 * rank + r);
  }
  const auto got = world.alltoallv(send, counts);
  ASSERT_EQ(got.counts, std::vector<std::size_t>(ranks, self + 1));
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < got.counts[r]; ++i) {
      EXPECT_EQ(got.values[got.displs[r] + i], 10 * static_cast<int>(r) + rank);
    }
  }
}

// What a thread keeps for the arrays of a call grows with the communicator, and serves a smaller one afterwards.
TEST_F(OneLineForms, FollowCommunicatorsOfDifferentSizes) {
  const auto pairs = world.split(rank / 2, rank);
  const auto expect_own_ranks = [](const Communicator& comm) {
    const auto mine = std::vector<int>(static_cast<std::size_t>(comm.rank()) + 1, comm.rank());
    const auto last = comm.size() - 1;
    const auto at_root = comm.gatherv(mine, last);
    const auto everywhere = comm.allgatherv(mine);
    const auto back = comm.scatterv(at_root.values, at_root.counts, last);
    EXPECT_EQ(back, mine);
    std::vector<int> expected;
    for (int r = 0; r < comm.size(); ++r) expected.insert(expected.end(), static_cast<std::size_t>(r) + 1, r);
    EXPECT_EQ(everywhere.values, expected);
    EXPECT_EQ(at_root.values, comm.rank() == last ? expected : std::vector<int>());
  };
  ASSERT_TRUE(pairs);
  for (int round = 0; round < 2; ++round) {
    expect_own_ranks(*pairs);
    expect_own_ranks(world);
  }
}

TEST_F(OneLineForms, DisplacementsAreTheRunningSumOfTheCounts) {
  EXPECT_EQ(displacements(std::vector<int>{3, 0, 2}), (std::vector<int>{0, 3, 3}));
  EXPECT_EQ(displacements(std::vector<std::size_t>()), std::vector<std::size_t>());
  EXPECT_THROW((void)displacements(std::vector<int>{2147483647, 1, 1}), InvalidBuffer);
}
