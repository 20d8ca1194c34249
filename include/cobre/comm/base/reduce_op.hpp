// The predefined reductions, and for which element types each exists.
#pragma once

#include <cobre/comm/base/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>

namespace cobre::comm {

enum class ReduceOp : std::uint8_t {
  Sum,
  Prod,
  Min,
  Max,
  BitwiseAnd,
  BitwiseOr,
  BitwiseXor,
  LogicalAnd,
  LogicalOr,
  LogicalXor,
  MinLoc,
  MaxLoc,
};

inline constexpr std::size_t reduce_op_count = static_cast<std::size_t>(ReduceOp::MaxLoc) + 1;

[[nodiscard]] constexpr const char* to_string(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::Sum: return "Sum";
    case ReduceOp::Prod: return "Prod";
    case ReduceOp::Min: return "Min";
    case ReduceOp::Max: return "Max";
    case ReduceOp::BitwiseAnd: return "BitwiseAnd";
    case ReduceOp::BitwiseOr: return "BitwiseOr";
    case ReduceOp::BitwiseXor: return "BitwiseXor";
    case ReduceOp::LogicalAnd: return "LogicalAnd";
    case ReduceOp::LogicalOr: return "LogicalOr";
    case ReduceOp::LogicalXor: return "LogicalXor";
    case ReduceOp::MinLoc: return "MinLoc";
    case ReduceOp::MaxLoc: return "MaxLoc";
  }
  return "unknown operation";
}
/// By name. Whoever prints has `<ostream>`; whoever reduces need not.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, ReduceOp op) {
  return out << to_string(op);
}

/// Whether `op` has a meaning for elements of `type`: arithmetic on numbers, order on real numbers and bool,
/// bits on integers, bool and std::byte, truth on integers and bool, location on ValueIndex.
[[nodiscard]] constexpr bool is_defined(ReduceOp op, ElementType type) noexcept {
  const bool integer = type >= ElementType::Int8 && type <= ElementType::UInt64;
  const bool real = type >= ElementType::Float && type <= ElementType::LongDouble;
  const bool complex = type >= ElementType::ComplexFloat && type <= ElementType::ComplexLongDouble;
  const bool boolean = type == ElementType::Bool;
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Prod: return integer || real || complex;
    case ReduceOp::Min:
    case ReduceOp::Max: return integer || real || boolean;
    case ReduceOp::BitwiseAnd:
    case ReduceOp::BitwiseOr:
    case ReduceOp::BitwiseXor: return integer || boolean || type == ElementType::Byte;
    case ReduceOp::LogicalAnd:
    case ReduceOp::LogicalOr:
    case ReduceOp::LogicalXor: return integer || boolean;
    case ReduceOp::MinLoc:
    case ReduceOp::MaxLoc: return type >= ElementType::Int8Index && type <= ElementType::LongDoubleIndex;
  }
  return false;
}

}  // namespace cobre::comm
