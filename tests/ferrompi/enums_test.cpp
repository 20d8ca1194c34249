// The enums are values: they compare, copy, and print by name.
#include <ferrompi/ferrompi.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <sstream>
#include <string>
#include <type_traits>

using namespace ferrompi;

namespace {

// What a program sees that prints them one behind the other.
template <class Enum>
std::string printed(std::initializer_list<Enum> values) {
  static_assert(std::is_trivially_copyable_v<Enum> && std::equality_comparable<Enum>);
  std::ostringstream out;
  for (const auto value : values) {
    EXPECT_EQ(value, Enum(value));
    out << value << ' ';
  }
  return out.str();
}

TEST(Enums, ThreadLevelsPrintByNameAndAreOrdered) {
  EXPECT_EQ(printed({ThreadLevel::Single, ThreadLevel::Funneled, ThreadLevel::Serialized, ThreadLevel::Multiple}),
            "Single Funneled Serialized Multiple ");
  EXPECT_LT(ThreadLevel::Single, ThreadLevel::Funneled);
  EXPECT_LT(ThreadLevel::Funneled, ThreadLevel::Serialized);
  EXPECT_LT(ThreadLevel::Serialized, ThreadLevel::Multiple);
}

TEST(Enums, ReduceOpsPrintByName) {
  EXPECT_EQ(printed({ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max, ReduceOp::BitwiseAnd,
                     ReduceOp::BitwiseOr, ReduceOp::BitwiseXor, ReduceOp::LogicalAnd, ReduceOp::LogicalOr,
                     ReduceOp::LogicalXor, ReduceOp::MinLoc, ReduceOp::MaxLoc}),
            "Sum Prod Min Max BitwiseAnd BitwiseOr BitwiseXor LogicalAnd LogicalOr LogicalXor MinLoc MaxLoc ");
  EXPECT_EQ(printed({AccumulateOp::Replace, AccumulateOp(ReduceOp::Sum), AccumulateOp::NoOp}), "Replace Sum NoOp ");
  EXPECT_NE(AccumulateOp::NoOp, AccumulateOp::Replace);
}

TEST(Enums, ElementTypesPrintTheTypeThatTheyStandFor) {
  EXPECT_EQ(printed({ElementType::Opaque, ElementType::Bool, ElementType::Byte}), "bytes bool std::byte ");
  EXPECT_EQ(printed({ElementType::Int8, ElementType::Int16, ElementType::Int32, ElementType::Int64}),
            "int8 int16 int32 int64 ");
  EXPECT_EQ(printed({ElementType::UInt8, ElementType::UInt16, ElementType::UInt32, ElementType::UInt64}),
            "uint8 uint16 uint32 uint64 ");
  EXPECT_EQ(printed({ElementType::Float, ElementType::Double, ElementType::LongDouble}), "float double long double ");
  EXPECT_EQ(printed({ElementType::ComplexFloat, ElementType::ComplexDouble, ElementType::ComplexLongDouble}),
            "std::complex<float> std::complex<double> std::complex<long double> ");
  EXPECT_EQ(
      printed({ElementType::Int8Index, ElementType::Int16Index, ElementType::Int32Index, ElementType::Int64Index}),
      "ValueIndex<int8> ValueIndex<int16> ValueIndex<int32> ValueIndex<int64> ");
  EXPECT_EQ(
      printed({ElementType::UInt8Index, ElementType::UInt16Index, ElementType::UInt32Index, ElementType::UInt64Index}),
      "ValueIndex<uint8> ValueIndex<uint16> ValueIndex<uint32> ValueIndex<uint64> ");
  EXPECT_EQ(printed({ElementType::FloatIndex, ElementType::DoubleIndex, ElementType::LongDoubleIndex}),
            "ValueIndex<float> ValueIndex<double> ValueIndex<long double> ");
}

TEST(Enums, ErrorClassesPrintTheMacroOfTheStandard) {
  EXPECT_EQ(printed({ErrorClass::Success, ErrorClass::Root, ErrorClass::InStatus, ErrorClass::RmaRange,
                     ErrorClass::ProcFailed, ErrorClass::Raw}),
            "SUCCESS ERR_ROOT ERR_IN_STATUS ERR_RMA_RANGE ERR_PROC_FAILED ERR_CLASS ");
#define EXPECT_NAMED(name, macro, ...) EXPECT_EQ(printed({ErrorClass::name}), "ERR_" #macro " ");
  FERROMPI_ERROR_CLASSES(EXPECT_NAMED)
  FERROMPI_FAILURE_CLASSES(EXPECT_NAMED)
  FERROMPI_NEWER_CLASSES(EXPECT_NAMED)
#undef EXPECT_NAMED
}

TEST(Enums, OfSplitsAndWindowsPrintByName) {
  EXPECT_EQ(printed({SplitType::Shared, SplitType::Undefined}), "Shared Undefined ");
  EXPECT_EQ(printed({LockType::Exclusive, LockType::Shared}), "Exclusive Shared ");
  EXPECT_EQ(printed({WindowLayout::Contiguous, WindowLayout::Separate}), "Contiguous Separate ");
}

TEST(Enums, FenceAssertsPrintEveryPromise) {
  EXPECT_EQ(printed({FenceAssert::None, FenceAssert::NoStore, FenceAssert::NoPut, FenceAssert::NoPrecede,
                     FenceAssert::NoSucceed, FenceAssert::NoPut | FenceAssert::NoSucceed,
                     FenceAssert::NoPrecede | FenceAssert::NoStore}),
            "None NoStore NoPut NoPrecede NoSucceed NoPut|NoSucceed NoStore|NoPrecede ");
}

}  // namespace
