#include <cobre/comm/detail/exact_sum.hpp>
#include <cobre/comm/detail/operation.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using cobre::comm::detail::ExactSum;
using cobre::comm::detail::mix;
using cobre::comm::detail::sum_of_few;
__extension__ using Wide = __int128;

constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::denorm_min();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

ExactSum sum_of(const std::vector<double>& values) {
  ExactSum sum;
  sum.add(std::span<const double>(values));
  return sum;
}
double total(const std::vector<double>& values) {
  return sum_of(values).to_double();
}
float total_of_floats(const std::vector<float>& values) {
  ExactSum sum;
  sum.add(std::span<const float>(values));
  return sum.to_float();
}

TEST(ExactSum, OfNothingIsZero) {
  EXPECT_EQ(total({}), 0.0);
  EXPECT_EQ(total_of_floats({}), 0.0F);
}

TEST(ExactSum, OfOneNumberIsThatNumber) {
  for (const double value : {1.0, -1.0, 0.1, -3e300, largest, -largest, smallest, -smallest,
                             std::numeric_limits<double>::min(), 1.0 / 3.0}) {
    EXPECT_EQ(total({value}), value);
  }
}

TEST(ExactSum, KeepsWhatCancellationLeaves) {
  EXPECT_EQ(total({1e300, 1.0, -1e300}), 1.0);
  EXPECT_EQ(total({1e300, smallest, -1e300}), smallest);
  EXPECT_EQ(total({1.0, -1.0}), 0.0);
  EXPECT_EQ(total({-1e300, -1.0, 1e300}), -1.0);
}

TEST(ExactSum, RoundsOnceToTheNearestAndTiesToEven) {
  const double big = 0x1p53;
  EXPECT_EQ(total({big, 1.0}), big);
  EXPECT_EQ(total({big, 1.0, smallest}), big + 2);
  EXPECT_EQ(total({big, 1.0, -smallest}), big);
  EXPECT_EQ(total({big + 2, 1.0}), big + 4);
  EXPECT_EQ(total({-big, -1.0}), -big);
  EXPECT_EQ(total({-big, -1.0, -smallest}), -big - 2);
  EXPECT_EQ(total({0x1.fffffffffffffp0, 0x1p-53}), 2.0);  // all ones carry into the next exponent
}

TEST(ExactSum, RoundsToFloatOnceToo) {
  // By way of a rounded double the last number would be lost, and the tie go down.
  EXPECT_EQ(total_of_floats({1.0F, 0x1p-24F, 0x1p-60F}), 1.0F + 0x1p-23F);
  EXPECT_EQ(total_of_floats({1.0F, 0x1p-24F}), 1.0F);
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(total_of_floats({tiny, tiny}), 2 * tiny);
  EXPECT_EQ(total_of_floats(std::vector<float>(4, std::numeric_limits<float>::max())),
            std::numeric_limits<float>::infinity());
}

TEST(ExactSum, GoesBeyondTheLargestNumberAndBack) {
  EXPECT_EQ(total({largest, largest}), infinity);
  EXPECT_EQ(total({-largest, -largest}), -infinity);
  EXPECT_EQ(total({largest, largest, -largest}), largest);
  std::vector<double> many(10'000, largest);
  many.resize(20'000, -largest);
  many.push_back(-0.5);
  EXPECT_EQ(total(many), -0.5);
}

TEST(ExactSum, OfInfinitiesAndNaNsIsWhatTheyGiveTogether) {
  EXPECT_EQ(total({1.0, infinity, -largest}), infinity);
  EXPECT_EQ(total({1.0, -infinity}), -infinity);
  EXPECT_TRUE(std::isnan(total({infinity, 1.0, -infinity})));
  EXPECT_TRUE(std::isnan(total({1.0, nan})));
}

// Integers of up to 100 bits, whose sum 128 bits hold exactly; the compiler's conversion rounds them.
TEST(ExactSum, IsTheSumThatIntegersGive) {
  for (std::uint64_t round = 0; round < 200; ++round) {
    std::vector<double> values;
    Wide exact = 0;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const std::uint64_t bits = mix(round << 32 | i);
      const auto mantissa = static_cast<std::int64_t>(bits) >> 12;
      const auto shift = static_cast<int>(bits % 48);
      values.push_back(std::ldexp(static_cast<double>(mantissa), shift));
      exact += static_cast<Wide>(mantissa) * (static_cast<Wide>(1) << shift);
    }
    ASSERT_EQ(total(values), static_cast<double>(exact)) << "round " << round;
  }
}

TEST(ExactSum, ComesApartIntoNumbersThatAddUpToIt) {
  const ExactSum sum = sum_of({1e20, 1.0, 1e-20});
  std::array<double, 3> parts{};
  EXPECT_TRUE(sum.take_apart(parts));
  EXPECT_EQ(parts[0], 1e20);
  EXPECT_EQ(total({parts[0], parts[1], parts[2], -1e20, -1.0}), 1e-20);
  std::array<double, 2> too_few{};
  EXPECT_FALSE(sum.take_apart(too_few));
  EXPECT_FALSE(sum_of({largest, largest}).take_apart(parts));
  EXPECT_FALSE(sum_of({infinity}).take_apart(parts));
  EXPECT_FALSE(sum_of({nan}).take_apart(parts));
}

TEST(ExactSum, AddsUpOverRanksAsIntegers) {
  const std::vector<double> values{1e300, -3.5, 1e-300, largest, -1e300, smallest, -largest, 0.1};
  auto words = sum_of({}).portable().words;
  for (const double value : values) {
    const auto one = sum_of({value}).portable();
    for (std::size_t i = 0; i < words.size(); ++i) words[i] += one.words[i];
  }
  EXPECT_EQ(ExactSum::from({words}).to_double(), total(values));
  EXPECT_EQ(ExactSum::from(sum_of({-infinity, 1.0}).portable()).to_double(), -infinity);
}

TEST(ExactSum, OfAFewIsTheSameWithoutTheAccumulator) {
  const double big = 0x1p53;
  for (const auto& values : std::vector<std::vector<double>>{{},
                                                             {0.0, -0.0},
                                                             {0.1, 0.2, 0.3},
                                                             {1e300, 1.0, -1e300},
                                                             {big, 1.0},
                                                             {big, 1.0, smallest},
                                                             {big, 1.0, -smallest},
                                                             {-big, -1.0, -smallest},
                                                             {1.0, 1e-17, 1e-34, 1e-51},
                                                             {smallest, smallest, -1e-300}}) {
    EXPECT_EQ(sum_of_few<double>(values), total(values));
    EXPECT_EQ(sum_of_few<float>(values), sum_of(values).to_float());
  }
  for (std::uint64_t round = 0; round < 100'000; ++round) {
    std::vector<double> values;
    for (std::uint64_t i = 0; i < 2 + round % 7; ++i) {
      const std::uint64_t bits = mix(round << 8 | i);
      values.push_back(std::ldexp(static_cast<double>(static_cast<std::int64_t>(bits)), static_cast<int>(bits % 64)));
    }
    ASSERT_EQ(sum_of_few<double>(values), total(values)) << "round " << round;
  }
}

// What a float drops decides by its last bits, so they are set or near to that more often than by chance.
TEST(ExactSum, OfAFewIsRoundedToFloatOnceToo) {
  EXPECT_EQ(sum_of_few<float>(std::vector{1.0, 0x1p-24, 0x1p-60}), 1.0F + 0x1p-23F);
  EXPECT_EQ(sum_of_few<float>(std::vector{1.0, 0x1p-24, 0x1p-80, -0x1p-120}), 1.0F + 0x1p-23F);
  EXPECT_EQ(sum_of_few<float>(std::vector{1.0, 0x1p-24, -0x1p-80}), 1.0F);
  EXPECT_EQ(sum_of_few<float>(std::vector{-1.0, -0x1p-24, -0x1p-80}), -1.0F - 0x1p-23F);
  EXPECT_EQ(sum_of_few<float>(std::vector{1.0, 0x1p-24}), 1.0F);
  EXPECT_EQ(sum_of_few<float>(std::vector{1.0 + 0x1p-23, 0x1p-24, 0x1p-200}), 1.0F + 0x1p-22F);
  for (std::uint64_t round = 0; round < 100'000; ++round) {
    std::vector<double> values;
    for (std::uint64_t i = 0; i < 2 + round % 5; ++i) {
      const std::uint64_t bits = mix(round << 8 | i);
      const double power = std::ldexp(1.0, -static_cast<int>(bits % 8 * 12));
      values.push_back((bits & 256) != 0 ? power : -power * static_cast<double>(1 + (bits >> 9) % 3));
    }
    ASSERT_EQ(sum_of_few<float>(values), sum_of(values).to_float()) << "round " << round;
  }
}

TEST(ExactSum, OfTwoIsWhatTheProcessorGives) {
  for (const double one : {0.0, 1.0, -1.0, 0x1p53, largest, -largest, smallest, -smallest, infinity, -infinity}) {
    for (const double other : {0.0, -1.0, 0x1p-53, 3 * 0x1p-53, largest, -largest, smallest, infinity}) {
      const auto sum = sum_of_few<double>(std::vector{0.0, one, -0.0, other});
      ASSERT_TRUE(sum.has_value());
      const double exact = total({one, other});
      EXPECT_TRUE(std::isnan(exact) ? std::isnan(*sum) : *sum == exact && std::signbit(*sum) == std::signbit(exact))
          << one << " and " << other;
    }
  }
  EXPECT_TRUE(std::isnan(sum_of_few<double>(std::vector{nan}).value()));
}

TEST(ExactSum, OfAFewLeavesToTheAccumulatorWhatItCannot) {
  EXPECT_FALSE(sum_of_few<double>(std::vector{largest, largest, -largest}).has_value());
  EXPECT_FALSE(sum_of_few<double>(std::vector{infinity, 1.0, 2.0}).has_value());
  EXPECT_FALSE(sum_of_few<double>(std::vector{1.0, 2.0, nan}).has_value());
  EXPECT_FALSE(sum_of_few<float>(std::vector{infinity}).has_value());
}

}  // namespace
