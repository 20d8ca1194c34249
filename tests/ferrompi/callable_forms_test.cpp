// Reductions by callables in every form: blocking, nonblocking and persistent, out of place and in place. One callable
// depends on the order of the ranks; the other may be applied in any, and says so.
#include "ferrompi/ranks.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <ostream>

using namespace ferrompi;

namespace {

// x -> a x + b, of unsigned integers that wrap around.
struct Line {
  std::uint64_t a;
  std::uint64_t b;
  friend bool operator==(const Line&, const Line&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Line& line) { return out << line.a << "x+" << line.b; }
};

// Composition is associative and does not commute.
struct Composition {
  using Element = Line;
  static Line of(int rank, std::size_t place, int round) {
    const auto here = static_cast<std::uint64_t>(rank) + 7 * place + 31 * static_cast<std::uint64_t>(round);
    return {2 * here + 3, here + 1};
  }
  static Line combine(const Line& first, const Line& second) {
    return {second.a * first.a, second.a * first.b + second.b};
  }
  static auto op(int& calls) {
    return [&calls](const Line& first, const Line& second) {
      ++calls;
      return combine(first, second);
    };
  }
};

struct Addition {
  using Element = std::int64_t;
  static Element of(int rank, std::size_t place, int round) {
    return 1000 * (rank + 1) + static_cast<Element>(place) + 100000 * (round + 1);
  }
  static Element combine(Element a, Element b) { return a + b; }
  static auto op(int& calls) {
    return commutative([&calls](Element a, Element b) {
      ++calls;
      return combine(a, b);
    });
  }
};

template <class Operation>
class CallablesInEveryForm : public Ranks {
 protected:
  using T = typename Operation::Element;
  using Elements = std::vector<T>;

  // One element, a few, and more than a library sends in one piece.
  static constexpr std::array<std::size_t, 3> lengths{1, 5, 3000};
  [[nodiscard]] std::vector<int> roots() const {
    std::vector<int> some{0, size / 2, size - 1};
    some.erase(std::unique(some.begin(), some.end()), some.end());
    return some;
  }

  // Over ranks [0, end).
  static T over(int end, std::size_t place, int round) {
    T all = Operation::of(0, place, round);
    for (int r = 1; r < end; ++r) all = Operation::combine(all, Operation::of(r, place, round));
    return all;
  }
  // Of one rank, or over the first ones: `count` elements from a place on.
  static Elements contribution(int rank, std::size_t count, int round) {
    Elements data;
    for (std::size_t i = 0; i < count; ++i) data.push_back(Operation::of(rank, i, round));
    return data;
  }
  // What this rank contributes, where the buffer is: plans know its address.
  void fill(Elements& data, int round) const {
    std::ranges::copy(contribution(rank, data.size(), round), data.begin());
  }
  static Elements results(int end, std::size_t from, std::size_t count, int round) {
    Elements data;
    for (std::size_t i = 0; i < count; ++i) data.push_back(over(end, from + i, round));
    return data;
  }

  // Blocking, nonblocking, a nonblocking one that is dropped, and four times persistent.
  static void in_every_form(const std::function<void(int)>& before, const std::function<void(int)>& after,
                            const std::function<void()>& blocking, const std::function<Request()>& nonblocking,
                            const std::function<PersistentRequest()>& persistent) {
    before(0);
    blocking();
    after(0);
    before(1);
    nonblocking().wait();
    after(1);
    before(2);
    { const auto dropped = nonblocking(); }
    after(2);
    auto plan = persistent();
    for (int round = 3; round < 7; ++round) {
      before(round);
      plan.start();
      plan.wait();
      after(round);
    }
  }

  int calls = 0;  // of the callable, which the requests keep with what it captures
};

using Operations = testing::Types<Composition, Addition>;
TYPED_TEST_SUITE(CallablesInEveryForm, Operations);

}  // namespace

FERROMPI_DATATYPE(Line, a, b);

#define CALL_IN_EVERY_FORM(before, after, name, suffix, ...)         \
  this->in_every_form(                                               \
      before, after, [&] { this->world.name##suffix(__VA_ARGS__); }, \
      [&] { return this->world.i##name##suffix(__VA_ARGS__); },      \
      [&] { return this->world.name##_init##suffix(__VA_ARGS__); })

TYPED_TEST(CallablesInEveryForm, ReduceToTheRoot) {
  const auto op = TypeParam::op(this->calls);
  for (const auto length : this->lengths) {
    typename TestFixture::Elements send(length);
    typename TestFixture::Elements recv(length);
    for (const int root : this->roots()) {
      SCOPED_TRACE(testing::Message() << length << " elements to rank " << root);
      const auto before = [&](int round) {
        this->fill(send, round);
        std::ranges::fill(recv, typename TestFixture::T{});
      };
      const auto after = [&](int round) {
        EXPECT_EQ(send, this->contribution(this->rank, length, round)) << "round " << round;
        if (this->rank == root) {
          EXPECT_EQ(recv, this->results(this->size, 0, length, round)) << "round " << round;
        }
      };
      CALL_IN_EVERY_FORM(before, after, reduce, , send, recv, op, root);
      const auto after_in_place = [&](int round) {
        EXPECT_EQ(send, this->rank == root ? this->results(this->size, 0, length, round)
                                           : this->contribution(this->rank, length, round))
            << "round " << round;
      };
      CALL_IN_EVERY_FORM(before, after_in_place, reduce, _inplace, send, op, root);
      before(0);
      send = this->world.reduce(std::move(send), op, root);
      after_in_place(0);
      before(1);
      send = this->world.ireduce(std::move(send), op, root).get();
      after_in_place(1);
    }
  }
}

TYPED_TEST(CallablesInEveryForm, ReduceToEveryRank) {
  const auto op = TypeParam::op(this->calls);
  for (const auto length : this->lengths) {
    SCOPED_TRACE(testing::Message() << length << " elements");
    typename TestFixture::Elements send(length);
    typename TestFixture::Elements recv(length);
    const auto before = [&](int round) {
      this->fill(send, round);
      std::ranges::fill(recv, typename TestFixture::T{});
    };
    // `end` ranks are reduced over; with none this one's buffer stays as it was.
    const auto expect_over = [&](typename TestFixture::Elements& result, int end) {
      return [&, end](int round) {
        if (end == 0) {
          EXPECT_EQ(result, &result == &send ? this->contribution(this->rank, length, round)
                                             : typename TestFixture::Elements(length));
        } else {
          EXPECT_EQ(result, this->results(end, 0, length, round)) << "round " << round;
        }
      };
    };
    CALL_IN_EVERY_FORM(before, expect_over(recv, this->size), allreduce, , send, recv, op);
    CALL_IN_EVERY_FORM(before, expect_over(send, this->size), allreduce, _inplace, send, op);
    CALL_IN_EVERY_FORM(before, expect_over(recv, this->rank + 1), scan, , send, recv, op);
    CALL_IN_EVERY_FORM(before, expect_over(send, this->rank + 1), scan, _inplace, send, op);
    CALL_IN_EVERY_FORM(before, expect_over(recv, this->rank), exscan, , send, recv, op);
    CALL_IN_EVERY_FORM(before, expect_over(send, this->rank), exscan, _inplace, send, op);
  }
}

TYPED_TEST(CallablesInEveryForm, ShareOutTheirResult) {
  const auto op = TypeParam::op(this->calls);
  for (const auto length : this->lengths) {
    // Equal blocks; and parts that grow, so that in place one lies less than its length from the front, with empty
    // ones.
    std::vector<int> equal(this->ranks, static_cast<int>(length));
    std::vector<int> unequal;
    for (std::size_t r = 0; r < this->ranks; ++r)
      unequal.push_back(static_cast<int>(r % 3 == 2 ? 0 : length * (r + 1)));
    for (const auto& counts : {equal, unequal}) {
      SCOPED_TRACE(testing::Message() << length << " elements for rank 0, " << counts.back() << " for the last");
      const auto begin = std::accumulate(counts.begin(), counts.begin() + this->rank, std::size_t{0});
      const auto own = static_cast<std::size_t>(counts[this->self]);
      typename TestFixture::Elements send(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
      typename TestFixture::Elements recv(own);
      const auto before = [&](int round) {
        this->fill(send, round);
        std::ranges::fill(recv, typename TestFixture::T{});
      };
      const auto after = [&](int round) {
        EXPECT_EQ(recv, this->results(this->size, begin, own, round)) << "round " << round;
      };
      const auto after_in_place = [&](int round) {
        const auto front = typename TestFixture::Elements(send.begin(), send.begin() + counts[this->self]);
        EXPECT_EQ(front, this->results(this->size, begin, own, round)) << "round " << round;
      };
      CALL_IN_EVERY_FORM(before, after, reduce_scatter, , send, recv, counts, op);
      CALL_IN_EVERY_FORM(before, after_in_place, reduce_scatter, _inplace, send, counts, op);
      if (counts != equal) continue;
      CALL_IN_EVERY_FORM(before, after, reduce_scatter_block, , send, recv, op);
      CALL_IN_EVERY_FORM(before, after_in_place, reduce_scatter_block, _inplace, send, op);
    }
  }
}
