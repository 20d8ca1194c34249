// Values of every element type, and what each ReduceOp makes of two of them.
#pragma once

#include <ferrompi/ferrompi.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace samples {

enum class Colour : std::uint16_t { Red = 1, Green = 2, Blue = 4 };

template <class T>
inline constexpr bool is_pair = false;
template <class T>
inline constexpr bool is_pair<ferrompi::ValueIndex<T>> = true;

// Small values, so that no product over five ranks leaves an 8-bit integer; zeros among them for the logical
// operations.
template <class T>
T sample(int rank, int place) {
  const int number = (rank * 2 + place) % 3;
  if constexpr (is_pair<T>) {
    return {static_cast<decltype(T::value)>(number), 10 * rank + place};
  } else if constexpr (requires { typename T::value_type; }) {
    return static_cast<typename T::value_type>(number);
  } else {
    return static_cast<T>(number);
  }
}

template <class T>
T fold(ferrompi::ReduceOp op, T a, T b) {
  if constexpr (is_pair<T>) {
    const bool a_first =
        a.value == b.value ? a.index < b.index : (a.value < b.value) == (op == ferrompi::ReduceOp::MinLoc);
    return a_first ? a : b;
  } else if constexpr (std::is_enum_v<T> && !std::is_same_v<T, std::byte>) {
    using U = std::underlying_type_t<T>;
    return static_cast<T>(fold<U>(op, static_cast<U>(a), static_cast<U>(b)));
  } else if constexpr (std::is_same_v<T, bool>) {
    switch (op) {
      case ferrompi::ReduceOp::Min:
      case ferrompi::ReduceOp::BitwiseAnd:
      case ferrompi::ReduceOp::LogicalAnd: return a && b;
      case ferrompi::ReduceOp::Max:
      case ferrompi::ReduceOp::BitwiseOr:
      case ferrompi::ReduceOp::LogicalOr: return a || b;
      default: return a != b;
    }
  } else {
    switch (op) {
      case ferrompi::ReduceOp::Sum:
        if constexpr (!std::is_same_v<T, std::byte>) return static_cast<T>(a + b);
        break;
      case ferrompi::ReduceOp::Prod:
        if constexpr (!std::is_same_v<T, std::byte>) return static_cast<T>(a * b);
        break;
      case ferrompi::ReduceOp::Min:
        if constexpr (std::totally_ordered<T>) return std::min(a, b);
        break;
      case ferrompi::ReduceOp::Max:
        if constexpr (std::totally_ordered<T>) return std::max(a, b);
        break;
      case ferrompi::ReduceOp::BitwiseAnd:
        if constexpr (std::integral<T> || std::is_same_v<T, std::byte>) return static_cast<T>(a & b);
        break;
      case ferrompi::ReduceOp::BitwiseOr:
        if constexpr (std::integral<T> || std::is_same_v<T, std::byte>) return static_cast<T>(a | b);
        break;
      case ferrompi::ReduceOp::BitwiseXor:
        if constexpr (std::integral<T> || std::is_same_v<T, std::byte>) return static_cast<T>(a ^ b);
        break;
      case ferrompi::ReduceOp::LogicalAnd:
        if constexpr (std::integral<T>) return static_cast<T>(a && b);
        break;
      case ferrompi::ReduceOp::LogicalOr:
        if constexpr (std::integral<T>) return static_cast<T>(a || b);
        break;
      case ferrompi::ReduceOp::LogicalXor:
        if constexpr (std::integral<T>) return static_cast<T>(!a != !b);
        break;
      default: break;
    }
    return T{};
  }
}

}  // namespace samples
