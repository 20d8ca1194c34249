// Elements that MPI has no type for, and pairs, of more than 2^31 bytes together: an int counts them, but not their
// bytes. Two ranks; needs about 12 GB. Not part of the default run: `ctest -C Large -L large`.
#include "ferrompi/large.hpp"

#include <cstdint>
#include <memory>

using namespace ferrompi;

namespace {

/// With a gap before its last member, so that no library can take it for bytes.
struct Inflow {
  std::int64_t volume;
  std::int8_t month;
  std::int32_t basin;

  friend bool operator==(const Inflow&, const Inflow&) = default;
};

}  // namespace

FERROMPI_DATATYPE(Inflow, volume, month, basin);

namespace {

constexpr std::size_t n = (std::size_t{1} << 27) + 3;
static_assert(n < INT_MAX && n * sizeof(Inflow) > INT_MAX);
static_assert(n * sizeof(ValueIndex<double>) > INT_MAX && n * sizeof(ValueIndex<std::uint64_t>) > INT_MAX);

Inflow inflow(std::size_t i, int rank, int round) {
  const auto number = static_cast<std::int32_t>(i & 0xfffffff) + rank * 7 + round;
  return {std::int64_t{number} * 3, static_cast<std::int8_t>(number % 12), number};
}

Inflow both(const Inflow& a, const Inflow& b) {
  return {a.volume + b.volume, static_cast<std::int8_t>(a.month + b.month), a.basin + b.basin};
}

template <class T>
class Elements {
 public:
  explicit Elements(std::size_t length) : data_(std::make_unique_for_overwrite<T[]>(length)), length_(length) {}

  std::span<T> all() { return {data_.get(), length_}; }

  template <class Make>
  void fill(Make make) {
    for (std::size_t i = 0; i < length_; ++i) data_[i] = make(i);
  }
  /// The first place at which the elements differ from what `expected(i)` says, or their number.
  template <class Expected>
  std::size_t first_difference(Expected expected) const {
    std::size_t i = 0;
    while (i < length_ && data_[i] == expected(i)) ++i;
    return i;
  }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t length_;
};

class LargeTypes : public large::InEveryForm {
 protected:
  void SetUp() override { ASSERT_EQ(size, 2) << "these tests are written for two ranks"; }

  // The smaller or larger of what the two ranks have, with its place.
  template <class T>
  void pick_pairs() {
    Elements<ValueIndex<T>> data(n);
    const auto pair = [](std::size_t i, int from, int round) {
      const auto number = (i * 5 + static_cast<std::size_t>(from) * (i % 3) + static_cast<std::size_t>(round)) % 1000;
      return ValueIndex<T>{static_cast<T>(number), static_cast<int>(i % 1000) * 2 + from};
    };
    const auto fill = [&](int round) { data.fill([&](std::size_t i) { return pair(i, rank, round); }); };
    const auto look = [&](int round) {
      const auto larger = [&](std::size_t i) {
        const auto first = pair(i, 0, round);
        const auto second = pair(i, 1, round);
        return second.value > first.value ? second : first;
      };
      EXPECT_EQ(data.first_difference(larger), n) << "round " << round;
    };
    run(
        fill, look, [&] { world.allreduce_inplace(data.all(), ReduceOp::MaxLoc); },
        [&] { return world.iallreduce_inplace(data.all(), ReduceOp::MaxLoc); },
        [&] { return world.allreduce_init_inplace(data.all(), ReduceOp::MaxLoc); });
  }
};

}  // namespace

TEST_F(LargeTypes, StructsAreBroadcast) {
  Elements<Inflow> data(n);
  const auto fill = [&](int round) {
    data.fill([&](std::size_t i) { return rank == 1 ? inflow(i, 1, round) : Inflow{}; });
  };
  const auto look = [&](int round) {
    EXPECT_EQ(data.first_difference([&](std::size_t i) { return inflow(i, 1, round); }), n) << "round " << round;
  };
  run(
      fill, look, [&] { world.broadcast(data.all(), 1); }, [&] { return world.ibroadcast(data.all(), 1); },
      [&] { return world.broadcast_init(data.all(), 1); });
}

TEST_F(LargeTypes, StructsAreExchanged) {
  Elements<Inflow> send(n);
  Elements<Inflow> recv(n);
  const int other = 1 - rank;
  send.fill([&](std::size_t i) { return inflow(i, rank, 0); });
  recv.fill([](std::size_t) { return Inflow{}; });
  const auto status = world.sendrecv(send.all(), other, 3, recv.all(), other, 3);
  EXPECT_EQ(status.count(), n);
  EXPECT_EQ(recv.first_difference([&](std::size_t i) { return inflow(i, other, 0); }), n);
}

TEST_F(LargeTypes, StructsAreGatheredEverywhere) {
  constexpr std::size_t half = n / 2;
  Elements<Inflow> all(2 * half);
  const auto fill = [&](int round) {
    all.fill([&](std::size_t i) { return i / half == self ? inflow(i, rank, round) : Inflow{}; });
  };
  const auto look = [&](int round) {
    const auto expected = [&](std::size_t i) { return inflow(i, static_cast<int>(i / half), round); };
    EXPECT_EQ(all.first_difference(expected), 2 * half) << "round " << round;
  };
  run(
      fill, look, [&] { world.allgather_inplace(all.all()); }, [&] { return world.iallgather_inplace(all.all()); },
      [&] { return world.allgather_init_inplace(all.all()); });
}

TEST_F(LargeTypes, StructsAreReducedByACallable) {
  Elements<Inflow> data(n);
  const auto fill = [&](int round) { data.fill([&](std::size_t i) { return inflow(i, rank, round); }); };
  const auto look = [&](int round) {
    const auto sum = [&](std::size_t i) { return both(inflow(i, 0, round), inflow(i, 1, round)); };
    EXPECT_EQ(data.first_difference(sum), n) << "round " << round;
  };
  run(
      fill, look, [&] { world.allreduce_inplace(data.all(), both); },
      [&] { return world.iallreduce_inplace(data.all(), both); },
      [&] { return world.allreduce_init_inplace(data.all(), both); });
}

TEST_F(LargeTypes, StructsOfAReductionAreSharedOut) {
  constexpr std::size_t half = n / 2;
  Elements<Inflow> send(2 * half);
  Elements<Inflow> recv(half);
  const auto fill = [&](int round) {
    send.fill([&](std::size_t i) { return inflow(i, rank, round); });
    recv.fill([](std::size_t) { return Inflow{}; });
  };
  const auto look = [&](int round) {
    const auto sum = [&](std::size_t i) {
      return both(inflow(self * half + i, 0, round), inflow(self * half + i, 1, round));
    };
    EXPECT_EQ(recv.first_difference(sum), half) << "round " << round;
  };
  run(
      fill, look, [&] { world.reduce_scatter_block(send.all(), recv.all(), both); },
      [&] { return world.ireduce_scatter_block(send.all(), recv.all(), both); },
      [&] { return world.reduce_scatter_block_init(send.all(), recv.all(), both); });
}

TEST_F(LargeTypes, PairsOfMpisOwnTypeAreReduced) {
  pick_pairs<double>();
}

TEST_F(LargeTypes, PairsOfATypeOfOursAreReduced) {
  pick_pairs<std::uint64_t>();
}
