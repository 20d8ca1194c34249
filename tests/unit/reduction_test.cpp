// The compiled kernels against the definition, for every number of sources around their block sizes.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include "comm/core/reduction/kernels.hpp"
#include "conformance/values.hpp"

namespace {

using namespace cobre::comm;
using namespace conformance;

std::vector<const core::KernelTable*> tables() {
  std::vector<const core::KernelTable*> result{&core::baseline_kernels};
#ifdef COBRE_COMM_KERNELS_AVX2
  if (__builtin_cpu_supports("avx2")) result.push_back(&core::avx2_kernels);
#endif
  return result;
}

template <class T>
void expect_canonical(const core::KernelTable& table, ReduceOp op, std::size_t sources, std::size_t count) {
  std::vector<std::vector<T>> inputs;
  std::vector<const void*> pointers;
  for (std::size_t s = 0; s < sources; ++s) inputs.push_back(contribution<T>(s, count, 1));
  for (const auto& input : inputs) pointers.push_back(input.data());
  std::vector<T> result(count);
  const auto kernel = table.kernels[static_cast<std::size_t>(op)][static_cast<std::size_t>(element_type_v<T>)];
  ASSERT_NE(kernel, nullptr);
  kernel(nullptr, result.data(), pointers.data(), sources, count);
  EXPECT_TRUE(all_same(result, expected_reduction<T>(op, sources, count, 1)))
      << to_string(op) << " of " << sources << " sources of " << count << " " << to_string(element_type_v<T>);
}

TEST(Reduction, ExistsExactlyWhereItIsDefined) {
  for (const auto* table : tables()) {
    for (std::size_t op = 0; op < reduce_op_count; ++op) {
      for (std::size_t type = 0; type < element_type_count; ++type) {
        EXPECT_EQ(table->kernels[op][type] != nullptr,
                  is_defined(static_cast<ReduceOp>(op), static_cast<ElementType>(type)))
            << to_string(static_cast<ReduceOp>(op)) << " on " << to_string(static_cast<ElementType>(type));
      }
    }
  }
}

TEST(Reduction, FollowsTheTreeForEveryNumberOfSources) {
  for (const auto* table : tables()) {
    for (std::size_t sources = 1; sources <= 20; ++sources) {
      expect_canonical<double>(*table, ReduceOp::Sum, sources, 33);
      expect_canonical<float>(*table, ReduceOp::Sum, sources, 5);
    }
    for (const std::size_t sources : {31U, 32U, 33U, 64U, 100U})
      expect_canonical<double>(*table, ReduceOp::Sum, sources, 9);
  }
}

TEST(Reduction, FollowsTheTreeAcrossItsBlocks) {
  for (const auto* table : tables()) {
    for (const std::size_t count : {0U, 1U, 511U, 512U, 513U, 1024U, 5001U}) {
      for (const std::size_t sources : {2U, 3U, 4U, 5U, 8U, 11U}) {
        expect_canonical<double>(*table, ReduceOp::Sum, sources, count);
      }
    }
  }
}

TEST(Reduction, IsRightForEveryOperationAndType) {
  for (const auto* table : tables()) {
    for_each_reducible([&]<class T>() {
      for (const ReduceOp op : all_ops) {
        if (!is_defined(op, element_type_v<T>)) continue;
        for (const std::size_t sources : {2U, 3U, 4U, 7U}) expect_canonical<T>(*table, op, sources, 37);
      }
    });
  }
}

TEST(Reduction, MayWriteOverAnyOfItsSources) {
  for (const std::size_t sources : {2U, 4U, 5U, 9U}) {
    for (std::size_t target = 0; target < sources; ++target) {
      std::vector<std::vector<double>> inputs;
      std::vector<const void*> pointers;
      for (std::size_t s = 0; s < sources; ++s) inputs.push_back(contribution<double>(s, 1000, 2));
      for (const auto& input : inputs) pointers.push_back(input.data());
      detail::predefined_fold(ReduceOp::Sum, ElementType::Double)
          .apply(inputs[target].data(), pointers.data(), sources, 1000);
      EXPECT_TRUE(all_same(inputs[target], expected_reduction<double>(ReduceOp::Sum, sources, 1000, 2)));
    }
  }
}

template <class T>
T fold_two(ReduceOp op, T a, T b) {
  const void* sources[] = {&a, &b};
  T result{};
  detail::predefined_fold(op, element_type_v<T>).apply(&result, sources, 2, 1);
  return result;
}

template <class T>
class Extremes : public testing::Test {};
using Reals = testing::Types<float, double, long double>;
TYPED_TEST_SUITE(Extremes, Reals);

TYPED_TEST(Extremes, PropagateNaNFromEitherSide) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  for (const ReduceOp op : {ReduceOp::Min, ReduceOp::Max}) {
    EXPECT_TRUE(std::isnan(fold_two<TypeParam>(op, nan, 1)));
    EXPECT_TRUE(std::isnan(fold_two<TypeParam>(op, 1, nan)));
    EXPECT_TRUE(std::isnan(fold_two<TypeParam>(op, nan, nan)));
    EXPECT_TRUE(std::isnan(fold_two<TypeParam>(op, std::numeric_limits<TypeParam>::infinity(), nan)));
  }
}

TYPED_TEST(Extremes, PutMinusZeroBelowPlusZero) {
  const TypeParam zero = 0;
  EXPECT_TRUE(std::signbit(fold_two<TypeParam>(ReduceOp::Min, zero, -zero)));
  EXPECT_TRUE(std::signbit(fold_two<TypeParam>(ReduceOp::Min, -zero, zero)));
  EXPECT_FALSE(std::signbit(fold_two<TypeParam>(ReduceOp::Max, zero, -zero)));
  EXPECT_FALSE(std::signbit(fold_two<TypeParam>(ReduceOp::Max, -zero, zero)));
  EXPECT_TRUE(std::signbit(fold_two<TypeParam>(ReduceOp::Max, -zero, -zero)));
}

TYPED_TEST(Extremes, LocateNaNAndZerosByTheSameRule) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  using Pair = ValueIndex<TypeParam>;
  EXPECT_EQ(fold_two<Pair>(ReduceOp::MaxLoc, {1, 0}, {nan, 1}).index, 1);
  EXPECT_EQ(fold_two<Pair>(ReduceOp::MinLoc, {nan, 5}, {nan, 3}).index, 3);
  EXPECT_EQ(fold_two<Pair>(ReduceOp::MinLoc, {0, 1}, {-TypeParam{0}, 2}).index, 2);
  EXPECT_EQ(fold_two<Pair>(ReduceOp::MaxLoc, {0, 1}, {-TypeParam{0}, 0}).index, 1);
}

TEST(Reduction, IntegersWrapInsteadOfOverflowing) {
  EXPECT_EQ(fold_two<std::int32_t>(ReduceOp::Sum, std::numeric_limits<std::int32_t>::max(), 1),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(fold_two<std::uint16_t>(ReduceOp::Prod, 65535, 65535), 1);
  EXPECT_EQ(fold_two<std::int8_t>(ReduceOp::Prod, -128, -1), -128);
}

TEST(Reduction, ComplexProductsOfInfinitiesStayInfinite) {
  using Number = std::complex<double>;
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Number& a : {Number{infinity, 0}, Number{infinity, nan}, Number{-infinity, infinity}, Number{1, 2}}) {
    for (const Number& b : {Number{1, 1}, Number{-2, nan}, Number{infinity, -infinity}, Number{0, 3}}) {
      EXPECT_TRUE(same(fold_two<Number>(ReduceOp::Prod, a, b), a * b)) << a << " * " << b;
    }
  }
}

TEST(Reduction, CallablesSeeTheSameTree) {
  std::vector<std::string> trace;
  const auto combine = [](const std::uint64_t& a, const std::uint64_t& b) { return a * 31 + b; };
  std::vector<std::uint64_t> values{1, 2, 3, 4, 5, 6, 7};
  std::vector<const void*> pointers;
  for (const auto& value : values) pointers.push_back(&value);
  detail::CallableFold<std::uint64_t, const decltype(combine)> fold(combine);
  std::uint64_t result = 0;
  fold.fold().apply(&result, pointers.data(), pointers.size(), 1);
  EXPECT_EQ(result, merged(values, combine));
}

TEST(Reduction, ACallablesFirstExceptionIsKept) {
  int calls = 0;
  const auto combine = [&calls](double, double) -> double { throw std::runtime_error(std::to_string(++calls)); };
  const double a[3] = {1, 2, 3};
  const void* sources[] = {a, a};
  double result[3];
  detail::CallableFold<double, const decltype(combine)> fold(combine);
  fold.fold().apply(result, sources, 2, 3);
  fold.fold().apply(result, sources, 2, 3);
  ASSERT_TRUE(fold.error());
  try {
    std::rethrow_exception(fold.error());
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "1");
  }
}

}  // namespace
