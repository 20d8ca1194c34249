// Every ReduceOp on every element type, against the same fold done here; and what does not exist, refused.
#include "ferrompi/ranks.hpp"
#include "ferrompi/samples.hpp"

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

using namespace ferrompi;
using namespace samples;

namespace {

constexpr ReduceOp all_ops[] = {ReduceOp::Sum,        ReduceOp::Prod,       ReduceOp::Min,        ReduceOp::Max,
                                ReduceOp::BitwiseAnd, ReduceOp::BitwiseOr,  ReduceOp::BitwiseXor, ReduceOp::LogicalAnd,
                                ReduceOp::LogicalOr,  ReduceOp::LogicalXor, ReduceOp::MinLoc,     ReduceOp::MaxLoc};

template <class T>
class EveryType : public Ranks {};

using Types = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                             std::uint32_t, std::uint64_t, long long, unsigned long long, char, wchar_t, char8_t,
                             char32_t, bool, std::byte, float, double, long double, std::complex<float>,
                             std::complex<double>, std::complex<long double>, Colour, ValueIndex<std::int8_t>,
                             ValueIndex<std::int16_t>, ValueIndex<std::int32_t>, ValueIndex<std::int64_t>,
                             ValueIndex<std::uint8_t>, ValueIndex<std::uint16_t>, ValueIndex<std::uint32_t>,
                             ValueIndex<std::uint64_t>, ValueIndex<float>, ValueIndex<double>, ValueIndex<long double>>;
TYPED_TEST_SUITE(EveryType, Types);

}  // namespace

TYPED_TEST(EveryType, ReducesByEveryOperationThatExistsAndRefusesTheOthers) {
  using T = TypeParam;
  constexpr int length = 3;
  std::array<T, length> send;
  std::array<T, length> recv;
  for (int i = 0; i < length; ++i) send[static_cast<std::size_t>(i)] = sample<T>(this->rank, i);
  for (const auto op : all_ops) {
    if (!cobre::comm::is_defined(op, cobre::comm::element_type_v<T>)) {
      const auto error = error_of<InvalidOp>([&] { this->world.allreduce(send, recv, op); });
      EXPECT_EQ(error.operation(), "allreduce");
      EXPECT_NE(std::string(error.what()).find(to_string(op)), std::string::npos) << error.what();
      continue;
    }
    this->world.allreduce(send, recv, op);
    for (int i = 0; i < length; ++i) {
      T expected = sample<T>(0, i);
      for (int r = 1; r < this->size; ++r) expected = fold<T>(op, expected, sample<T>(r, i));
      EXPECT_TRUE(recv[static_cast<std::size_t>(i)] == expected) << to_string(op) << " at " << i;
    }
  }
}

// In every half of its range: some libraries compare unsigned integers as if they had a sign.
TYPED_TEST(EveryType, IsOrderedByItsWholeRange) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr T least = std::numeric_limits<T>::min();
    constexpr T greatest = std::numeric_limits<T>::max();
    const std::array<T, 2> send = {this->rank == 0 ? least : greatest, this->rank == 0 ? greatest : least};
    const bool alone = this->size == 1;
    std::array<T, 2> recv{};
    const auto expect = [&](T first, T second, const char* form) {
      EXPECT_TRUE(recv[0] == first && recv[1] == second) << form;
    };
    this->world.allreduce(send, recv, ReduceOp::Min);
    expect(least, alone ? greatest : least, "Min");
    this->world.allreduce(send, recv, ReduceOp::Max);
    expect(alone ? least : greatest, greatest, "Max");
    this->world.iallreduce(send, recv, ReduceOp::Min).wait();
    expect(least, alone ? greatest : least, "Min, nonblocking");
    auto plan = this->world.allreduce_init(send, recv, ReduceOp::Max);
    plan.start();
    plan.wait();
    expect(alone ? least : greatest, greatest, "Max, persistent");
  }
}

TYPED_TEST(EveryType, TravelsUnchanged) {
  using T = TypeParam;
  const T sent = sample<T>(this->rank, 1);
  const T got = this->world.sendrecv(sent, this->next, 7, this->previous, 7);
  EXPECT_TRUE(got == sample<T>(this->previous, 1));
  std::array<T, 2> data{sample<T>(this->rank, 0), sample<T>(this->rank, 1)};
  this->world.broadcast(data, this->size - 1);
  EXPECT_TRUE(data[1] == sample<T>(this->size - 1, 1));
}

class ReduceValues : public Ranks {};

TEST_F(ReduceValues, OfOneNumberNeedNoBuffers) {
  EXPECT_EQ(world.allreduce(rank + 1, ReduceOp::Sum), size * (size + 1) / 2);
  EXPECT_EQ(world.allreduce(rank, ReduceOp::Min), 0);
  double factorial = 1;
  for (int r = 1; r <= size; ++r) factorial *= r;
  EXPECT_EQ(world.allreduce(rank + 1.0, ReduceOp::Prod), factorial);
  EXPECT_EQ(world.scan(1, ReduceOp::Sum), rank + 1);
  EXPECT_EQ(world.scan(rank, ReduceOp::Max), rank);
  for (int root = 0; root < size; ++root) {
    EXPECT_EQ(world.reduce(rank, ReduceOp::Max, root), rank == root ? size - 1 : rank);
    EXPECT_EQ(world.broadcast(rank * 10, root), root * 10);
  }
}

TEST_F(ReduceValues, OfExscanIsValueInitialisedOnRankZero) {
  EXPECT_EQ(world.exscan(1, ReduceOp::Sum), rank);
  EXPECT_EQ(world.exscan(5, ReduceOp::Prod), rank == 0 ? 0 : static_cast<int>(std::pow(5, rank)));
  EXPECT_EQ(world.iexscan(1, ReduceOp::Sum).get(), rank);
}

TEST_F(ReduceValues, AreGatheredIntoVectors) {
  const auto everywhere = world.allgather(rank * 2);
  ASSERT_EQ(everywhere.size(), ranks);
  for (int r = 0; r < size; ++r) EXPECT_EQ(everywhere[static_cast<std::size_t>(r)], r * 2);
  for (int root = 0; root < size; ++root) {
    EXPECT_EQ(world.gather(rank * 2, root), rank == root ? everywhere : std::vector<int>());
  }
}

TEST_F(ReduceValues, FindTheOwnerOfTheLargestAndOfTheFirstAmongEquals) {
  const auto largest = world.allreduce(ValueIndex<double>{rank * 1.5, rank}, ReduceOp::MaxLoc);
  EXPECT_EQ(largest.index, size - 1);
  const auto smallest = world.allreduce(ValueIndex<double>{rank * 1.5, rank}, ReduceOp::MinLoc);
  EXPECT_EQ(smallest.index, 0);
  EXPECT_EQ(world.allreduce(ValueIndex<std::uint8_t>{9, 100 - rank}, ReduceOp::MaxLoc).index, 101 - size);
  EXPECT_EQ(world.allreduce(ValueIndex<float>{9, 100 - rank}, ReduceOp::MinLoc).index, 101 - size);
}

TEST_F(ReduceValues, AcceptAnOperationThatIsChosenAtRunTime) {
  volatile int choice = 0;
  const auto op = choice == 0 ? ReduceOp::Max : ReduceOp::Min;
  EXPECT_EQ(world.allreduce(rank, op), size - 1);
}

TEST_F(ReduceValues, OfNothingAreLegalAndSynchronise) {
  std::vector<double> none;
  world.allreduce(none, none, ReduceOp::Sum);
  world.broadcast(none, 0);
  world.gather(none, none, 0);
  world.alltoall(none, none);
  world.reduce_scatter_block(none, none, ReduceOp::Sum);
  EXPECT_TRUE(none.empty());
}

TEST_F(ReduceValues, TakeContainersOfAllKinds) {
  const double plain[2] = {1, 2};
  std::array<double, 2> fixed{};
  world.allreduce(plain, fixed, ReduceOp::Sum);
  EXPECT_EQ(fixed[1], 2.0 * size);
  world.allreduce(std::vector<double>{1, 1}, std::span(fixed), ReduceOp::Sum);
  EXPECT_EQ(fixed[0], 1.0 * size);
  const auto moved = world.allreduce(std::vector<int>{rank}, ReduceOp::Max);
  EXPECT_EQ(moved, std::vector<int>{size - 1});
  const std::vector<int> constant{rank};
  EXPECT_EQ(world.allreduce(std::move(constant), ReduceOp::Max), moved);  // NOLINT: what cannot be moved is copied
  // Who gets an error still has the container.
  auto gone = world.duplicate();
  const auto other = std::move(gone);
  std::vector<int> kept{rank, 7};
  EXPECT_THROW((void)gone.allreduce(std::move(kept), ReduceOp::Max), MpiError);  // NOLINT: use after move is the point
  EXPECT_EQ(kept, (std::vector<int>{rank, 7}));                                  // NOLINT: so here
}
