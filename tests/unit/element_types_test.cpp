#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string_view>

namespace {

using namespace cobre::comm;

enum class Small : std::uint8_t { A };
enum Plain { B };
struct Pod {
  int a;
  double b;
};
struct NoDefault {
  explicit NoDefault(int);
  int a;
};

static_assert(element_type_v<signed char> == ElementType::Int8 && element_type_v<unsigned char> == ElementType::UInt8);
static_assert(element_type_v<short> == ElementType::Int16 && element_type_v<unsigned short> == ElementType::UInt16);
static_assert(element_type_v<int> == ElementType::Int32 && element_type_v<unsigned> == ElementType::UInt32);
static_assert(element_type_v<long> == ElementType::Int64 && element_type_v<unsigned long> == ElementType::UInt64);
static_assert(element_type_v<long long> == ElementType::Int64 && element_type_v<std::size_t> == ElementType::UInt64);
static_assert(element_type_v<float> == ElementType::Float && element_type_v<double> == ElementType::Double &&
              element_type_v<long double> == ElementType::LongDouble);
static_assert(element_type_v<bool> == ElementType::Bool && element_type_v<std::byte> == ElementType::Byte);
static_assert(element_type_v<char8_t> == ElementType::UInt8 && element_type_v<char16_t> == ElementType::UInt16 &&
              element_type_v<char32_t> == ElementType::UInt32);
static_assert(sizeof(wchar_t) == 4 &&
              element_type_v<wchar_t> == (std::is_signed_v<wchar_t> ? ElementType::Int32 : ElementType::UInt32));
static_assert(element_type_v<char> == (std::is_signed_v<char> ? ElementType::Int8 : ElementType::UInt8));
static_assert(element_type_v<Small> == ElementType::UInt8 && Reducible<Plain>);
static_assert(element_type_v<std::complex<long double>> == ElementType::ComplexLongDouble);
static_assert(element_type_v<ValueIndex<float>> == ElementType::FloatIndex &&
              element_type_v<ValueIndex<std::uint64_t>> == ElementType::UInt64Index);
static_assert(element_type_v<ValueIndex<Pod>> == ElementType::Opaque && element_type_v<Pod> == ElementType::Opaque);
static_assert(element_type_v<const double> == ElementType::Double);

static_assert(CommData<double> && CommData<bool> && CommData<Pod> && CommData<std::array<int, 3>> && CommData<Small>);
static_assert(CommData<std::optional<int>>, "trivially copyable, whatever it means");
static_assert(!CommData<int*> && !CommData<int Pod::*> && !CommData<std::nullptr_t>, "no pointers");
static_assert(!CommData<std::span<int>> && !CommData<std::string_view> && !CommData<std::reference_wrapper<int>> &&
                  !CommData<std::initializer_list<int>>,
              "nothing that refers to memory elsewhere");
static_assert(!CommData<std::string> && !CommData<std::vector<int>>, "nothing that owns memory elsewhere");
static_assert(!CommData<const int> && !CommData<int&> && !CommData<int[3]> && !CommData<void>);
static_assert(!CommData<NoDefault>, "a region could not be filled with it");
static_assert(Reducible<double> && Reducible<ValueIndex<int>> && !Reducible<Pod>);

TEST(ElementTypes, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < element_type_count; ++i) names.insert(to_string(static_cast<ElementType>(i)));
  EXPECT_EQ(names.size(), element_type_count);
  EXPECT_EQ(names.count("unknown element type"), 0U);
}

TEST(ElementTypes, ReduceOpsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < reduce_op_count; ++i) names.insert(to_string(static_cast<ReduceOp>(i)));
  EXPECT_EQ(names.size(), reduce_op_count);
  EXPECT_TRUE(names.contains("LogicalXor"));
}

TEST(ElementTypes, OpaqueReducesWithNoPredefinedOperation) {
  for (std::size_t i = 0; i < reduce_op_count; ++i) {
    EXPECT_FALSE(is_defined(static_cast<ReduceOp>(i), ElementType::Opaque));
  }
}

TEST(ElementTypes, EveryOtherTypeReducesWithSome) {
  for (std::size_t type = 1; type < element_type_count; ++type) {
    bool some = false;
    for (std::size_t op = 0; op < reduce_op_count; ++op) {
      some = some || is_defined(static_cast<ReduceOp>(op), static_cast<ElementType>(type));
    }
    EXPECT_TRUE(some) << to_string(static_cast<ElementType>(type));
  }
}

}  // namespace
