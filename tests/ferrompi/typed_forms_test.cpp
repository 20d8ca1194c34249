// The collective operations and messages on elements of each kind: numbers that MPI knows, those that it is told of,
// pairs that are its own and pairs that are not, structs. Every form; forms_test has the lengths, rounds and roots.
#include "ferrompi/ranks.hpp"
#include "ferrompi/samples.hpp"

#include <bit>
#include <complex>
#include <functional>
#include <memory>

using namespace ferrompi;
using namespace samples;

namespace {

struct Reservoir {
  char kind;
  double level;
  std::array<std::int16_t, 3> months;
  friend bool operator==(const Reservoir&, const Reservoir&) = default;
};

// A value that tells who wrote it and where, as far as the type can: up to five ranks, up to 24 places.
template <class T>
T told(int rank, int place) {
  const int number = 24 * rank + place;
  if constexpr (std::is_same_v<T, Reservoir>) {
    return {static_cast<char>('a' + rank), 0.5 * place, {static_cast<std::int16_t>(number), 2, 3}};
  } else if constexpr (std::is_same_v<T, bool>) {
    return std::popcount(static_cast<unsigned>(number)) % 2 != 0;
  } else if constexpr (is_pair<T>) {
    return {static_cast<decltype(T::value)>(number), -number};
  } else if constexpr (requires { typename T::value_type; }) {
    return {static_cast<typename T::value_type>(rank), static_cast<typename T::value_type>(place)};
  } else {
    return static_cast<T>(number);
  }
}

// A vector that can be one of bool.
template <class T>
class Elements {
 public:
  explicit Elements(std::size_t length) : data_(std::make_unique<T[]>(length)), length_(length) {}

  [[nodiscard]] std::span<T> all() const { return {data_.get(), length_}; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t length_;
};

constexpr std::size_t length = 4;

template <class T>
class OfEachKind : public Ranks {
 protected:
  using Make = T (*)(int, int);  // of a rank and a place
  explicit OfEachKind(Make make) : make_(make) {}

  // What this rank contributes to a round.
  void fill(const Elements<T>& data, int round) const {
    for (std::size_t i = 0; i < data.all().size(); ++i) data[i] = make_(rank, static_cast<int>(i) + round);
  }
  static void clear(const Elements<T>& data) { std::ranges::fill(data.all(), T{}); }

  // `expected(i)` for each place of the data.
  static void expect(const Elements<T>& data, const std::function<T(std::size_t)>& expected, int round) {
    for (std::size_t i = 0; i < data.all().size(); ++i) {
      EXPECT_TRUE(data[i] == expected(i)) << "at " << i << " in round " << round;
    }
  }

  // Blocking, nonblocking and three times persistent.
  static void in_every_form(const std::function<void(int)>& before, const std::function<void(int)>& after,
                            const std::function<void()>& blocking, const std::function<Request()>& nonblocking,
                            const std::function<PersistentRequest()>& persistent) {
    before(0);
    blocking();
    after(0);
    before(1);
    nonblocking().wait();
    after(1);
    auto plan = persistent();
    for (int round = 2; round < 5; ++round) {
      before(round);
      plan.start();
      plan.wait();
      after(round);
    }
  }

 private:
  Make make_;
};

template <class T>
class MovedElements : public OfEachKind<T> {
 protected:
  MovedElements() : OfEachKind<T>(told<T>) {}
};
using MovedTypes = testing::Types<std::int8_t, bool, std::complex<long double>, Colour, ValueIndex<double>,
                                  ValueIndex<std::uint8_t>, Reservoir>;
TYPED_TEST_SUITE(MovedElements, MovedTypes);

template <class T>
class ReducedElements : public OfEachKind<T> {
 protected:
  ReducedElements() : OfEachKind<T>(sample<T>) {}

  // Of those that exist for the type, ones that depend on every rank.
  static std::vector<ReduceOp> ops() {
    if (is_pair<T>) return {ReduceOp::MinLoc, ReduceOp::MaxLoc};
    if (std::is_same_v<T, bool>) return {ReduceOp::LogicalOr, ReduceOp::LogicalXor};
    return {ReduceOp::Sum, ReduceOp::Prod};
  }
  // Over ranks [0, end).
  static T folded(ReduceOp op, int end, std::size_t place, int round) {
    const int at = static_cast<int>(place) + round;
    T result = sample<T>(0, at);
    for (int r = 1; r < end; ++r) result = fold<T>(op, result, sample<T>(r, at));
    return result;
  }
};
using ReducedTypes = testing::Types<std::int16_t, bool, std::complex<float>, ValueIndex<double>,
                                    ValueIndex<std::uint8_t>, ValueIndex<long double>>;
TYPED_TEST_SUITE(ReducedElements, ReducedTypes);

}  // namespace

FERROMPI_DATATYPE(Reservoir, kind, level, months);

#define IN_EVERY_FORM(before, after, name, ...)                                                                \
  this->in_every_form(                                                                                         \
      before, after, [&] { this->world.name(__VA_ARGS__); }, [&] { return this->world.i##name(__VA_ARGS__); }, \
      [&] { return this->world.name##_init(__VA_ARGS__); })

TYPED_TEST(MovedElements, AreGatheredScatteredAndExchanged) {
  using T = TypeParam;
  const Elements<T> one(length);
  const Elements<T> each(length * this->ranks);
  const Elements<T> others(length * this->ranks);
  const int last = this->size - 1;
  const auto before = [&](int round) {
    this->fill(one, round);
    this->fill(each, round);
    this->clear(others);
  };
  const auto gathered = [&](int round) {
    this->expect(
        others,
        [=](std::size_t i) { return told<T>(static_cast<int>(i / length), static_cast<int>(i % length) + round); },
        round);
  };
  const auto gathered_at_last = [&](int round) {
    if (this->rank == last) gathered(round);
  };
  IN_EVERY_FORM(before, gathered, allgather, one.all(), others.all());
  IN_EVERY_FORM(before, gathered_at_last, gather, one.all(), others.all(), last);

  const auto block = [&](std::size_t i) { return static_cast<int>(this->self * length + i % length); };
  const auto scattered = [&](int round) {
    this->expect(
        one, [&](std::size_t i) { return told<T>(last, block(i) + round); }, round);
  };
  IN_EVERY_FORM(before, scattered, scatter, each.all(), one.all(), last);
  const auto exchanged = [&](int round) {
    this->expect(
        others, [&](std::size_t i) { return told<T>(static_cast<int>(i / length), block(i) + round); }, round);
  };
  IN_EVERY_FORM(before, exchanged, alltoall, each.all(), others.all());
}

TYPED_TEST(MovedElements, TravelInMessages) {
  using T = TypeParam;
  const Elements<T> out(length);
  const Elements<T> in(length);
  const int to = this->next;
  const int from = this->previous;
  const auto send_and_receive = [&](int round, const std::function<void()>& move) {
    this->fill(out, round);
    this->clear(in);
    move();
    this->expect(
        in, [&](std::size_t i) { return told<T>(from, static_cast<int>(i) + round); }, round);
  };
  send_and_receive(0, [&] {
    auto receive = this->world.irecv(in.all(), from, 1);
    this->world.send(out.all(), to, 1);
    EXPECT_EQ(receive.wait().count(), length);
  });
  send_and_receive(1, [&] {
    auto send = this->world.isend(out.all(), to, 1);
    EXPECT_EQ(this->world.template probe<T>(from, 1).count(), length);
    EXPECT_EQ(this->world.recv(in.all(), from, 1).count(), length);
    send.wait();
  });
  auto send = this->world.send_init(out.all(), to, 1);
  auto receive = this->world.recv_init(in.all(), from, 1);
  for (int round = 2; round < 5; ++round) {
    send_and_receive(round, [&] {
      receive.start();
      send.start();
      EXPECT_EQ(receive.wait().count(), length);
      send.wait();
    });
  }
}

TYPED_TEST(ReducedElements, AreCombinedOverRanks) {
  const Elements<TypeParam> one(length);
  const Elements<TypeParam> other(length);
  const int last = this->size - 1;
  for (const auto op : this->ops()) {
    SCOPED_TRACE(to_string(op));
    const auto before = [&](int round) {
      this->fill(one, round);
      this->clear(other);
    };
    const auto expect_over = [&](int end, int round) {
      this->expect(
          other, [&](std::size_t i) { return this->folded(op, end, i, round); }, round);
    };
    IN_EVERY_FORM(
        before, [&](int round) { expect_over(this->size, round); }, allreduce, one.all(), other.all(), op);
    const auto at_last = [&](int round) {
      if (this->rank == last) expect_over(this->size, round);
    };
    IN_EVERY_FORM(before, at_last, reduce, one.all(), other.all(), op, last);
    IN_EVERY_FORM(
        before, [&](int round) { expect_over(this->rank + 1, round); }, scan, one.all(), other.all(), op);
    const auto below = [&](int round) {
      if (this->rank > 0) expect_over(this->rank, round);
    };
    IN_EVERY_FORM(before, below, exscan, one.all(), other.all(), op);
  }
}

TYPED_TEST(ReducedElements, AreCombinedAndSharedOut) {
  const Elements<TypeParam> one(length);
  const Elements<TypeParam> each(length * this->ranks);
  const std::vector<int> counts(this->ranks, static_cast<int>(length));
  for (const auto op : this->ops()) {
    SCOPED_TRACE(to_string(op));
    const auto before = [&](int round) {
      this->fill(each, round);
      this->clear(one);
    };
    const auto own_block = [&](int round) {
      this->expect(
          one, [&](std::size_t i) { return this->folded(op, this->size, this->self * length + i, round); }, round);
    };
    IN_EVERY_FORM(before, own_block, reduce_scatter_block, each.all(), one.all(), op);
    IN_EVERY_FORM(before, own_block, reduce_scatter, each.all(), one.all(), counts, op);
  }
}
