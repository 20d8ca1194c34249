// Blocks of four ranks that are together more than an int counts: with two there is nobody between the root and the
// others. The buffers are as long as they say, but of little memory, which is mapped again and again. Not part of the
// default run: `ctest -C Large -L large`.
#include "ferrompi/large.hpp"

#include <algorithm>
#include <concepts>

using namespace ferrompi;

namespace {

constexpr std::size_t piece = std::size_t{1} << 24;  // of memory
constexpr std::size_t block = 40 * piece;
static_assert(block < INT_MAX && 4 * block > INT_MAX);

// Blocks one behind the other, each of memory of its own.
class Blocks {
 public:
  explicit Blocks(std::size_t count) : count_(count), memory_(count, block, piece) {}

  std::span<std::uint8_t> all() { return memory_.all(); }
  void fill(std::size_t b, int rank, int round) {
    for (std::size_t i = 0; i < piece; ++i) at(b)[i] = pattern(i, rank, round);
  }
  void clear() {
    for (std::size_t b = 0; b < count_; ++b) std::ranges::fill(at(b), std::uint8_t{0xee});
  }
  bool holds(std::size_t b, int rank, int round) const {
    return holds(b, [=](std::size_t i) { return pattern(i, rank, round); });
  }
  bool holds(std::size_t b, std::invocable<std::size_t> auto expected) const {
    std::size_t i = 0;
    while (i < piece && at(b)[i] == expected(i)) ++i;
    return i == piece;
  }
  static std::uint8_t pattern(std::size_t i, int rank, int round) {
    return static_cast<std::uint8_t>(i * 7 + (i >> 13) + static_cast<std::size_t>(rank * 31 + round));
  }

 private:
  // The memory of a block, wherever it is looked at.
  [[nodiscard]] std::span<std::uint8_t> at(std::size_t b) const { return memory_.all().subspan(b * block, piece); }

  std::size_t count_;
  large::Repeated memory_;
};

class LargeBlocks : public large::InEveryForm {
 protected:
  void SetUp() override { ASSERT_EQ(size, 4) << "these tests are written for four ranks"; }

  static constexpr int root = 1;
  Blocks own{1};
  Blocks whole{rank == root ? 4u : 1u};
};

}  // namespace

TEST_F(LargeBlocks, AreGathered) {
  const auto fill = [&](int round) {
    own.fill(0, rank, round);
    whole.clear();
  };
  const auto look = [&](int round) {
    for (std::size_t r = 0; rank == root && r < 4; ++r) {
      EXPECT_TRUE(whole.holds(r, static_cast<int>(r), round)) << "block " << r << ", round " << round;
    }
  };
  run(
      fill, look, [&] { world.gather(own.all(), whole.all(), root); },
      [&] { return world.igather(own.all(), whole.all(), root); },
      [&] { return world.gather_init(own.all(), whole.all(), root); });
}

TEST_F(LargeBlocks, AreScattered) {
  const auto fill = [&](int round) {
    own.clear();
    for (std::size_t r = 0; rank == root && r < 4; ++r) whole.fill(r, static_cast<int>(r), round);
  };
  const auto look = [&](int round) { EXPECT_TRUE(own.holds(0, rank, round)) << "round " << round; };
  run(
      fill, look, [&] { world.scatter(whole.all(), own.all(), root); },
      [&] { return world.iscatter(whole.all(), own.all(), root); },
      [&] { return world.scatter_init(whole.all(), own.all(), root); });
}

TEST_F(LargeBlocks, AreGatheredAndScatteredInPlace) {
  auto& data = rank == root ? whole : own;
  const auto fill = [&](int round) {
    data.clear();
    data.fill(rank == root ? root : 0, rank, round);
  };
  const auto look = [&](int round) {
    for (std::size_t r = 0; rank == root && r < 4; ++r) {
      EXPECT_TRUE(whole.holds(r, static_cast<int>(r), round)) << "block " << r << ", round " << round;
    }
  };
  run(
      fill, look, [&] { world.gather_inplace(data.all(), root); },
      [&] { return world.igather_inplace(data.all(), root); },
      [&] { return world.gather_init_inplace(data.all(), root); });

  const auto refill = [&](int round) {
    own.clear();
    for (std::size_t r = 0; rank == root && r < 4; ++r) whole.fill(r, static_cast<int>(r), round);
  };
  const auto scattered = [&](int round) {
    EXPECT_TRUE(data.holds(rank == root ? root : 0, rank, round)) << "round " << round;
  };
  run(
      refill, scattered, [&] { world.scatter_inplace(data.all(), root); },
      [&] { return world.iscatter_inplace(data.all(), root); },
      [&] { return world.scatter_init_inplace(data.all(), root); });
}

// By an operation that may be done twice: a library may combine in the buffer for the result, where the same memory
// comes again.
TEST_F(LargeBlocks, OfAReductionAreSharedOut) {
  Blocks all(4);
  const auto fill = [&](int round) {
    own.clear();
    for (std::size_t b = 0; b < 4; ++b) all.fill(b, 4 * rank + static_cast<int>(b), round);
  };
  const auto look = [&](int round) {
    const auto combined = [&](std::size_t i) {
      std::uint8_t bits = 0;
      for (int r = 0; r < 4; ++r) bits |= Blocks::pattern(i, 4 * r + rank, round);
      return bits;
    };
    EXPECT_TRUE(own.holds(0, combined)) << "round " << round;
  };
  run(
      fill, look, [&] { world.reduce_scatter_block(all.all(), own.all(), ReduceOp::BitwiseOr); },
      [&] { return world.ireduce_scatter_block(all.all(), own.all(), ReduceOp::BitwiseOr); },
      [&] { return world.reduce_scatter_block_init(all.all(), own.all(), ReduceOp::BitwiseOr); });
}
