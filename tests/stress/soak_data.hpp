// What a soak sends, which every rank can work out for every other, and how it is combined.
#pragma once

#include <cobre/comm.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace stress {

struct Cell {
  std::uint64_t id;
  double value;
  std::int32_t row;
  std::int32_t column;
  bool operator==(const Cell&) const = default;
};

/// Of one operation, the same on every rank.
struct Draw {
  std::uint64_t which = 0;
  std::uint64_t op = 0;
  std::uint64_t salt = 0;
  std::size_t count = 0;
  std::size_t root = 0;
};

inline void require(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}

inline std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 31)) * 0x9E3779B97F4A7C15U;
  return value ^ (value >> 29);
}

/// A value and whose it is: many have the same value.
using Place = cobre::comm::ValueIndex<double>;

// Small whole numbers, so that sums are exact in every type, and products of a few of them: where they are not, Open
// MPI saturates short integers.
template <class T>
T element(std::uint64_t salt, std::size_t rank, std::size_t index) {
  const std::uint64_t number = mixed(salt + 1000003 * rank + index) % 100;
  if constexpr (std::same_as<T, Cell>) {
    return {number, static_cast<double>(rank), static_cast<std::int32_t>(index), static_cast<std::int32_t>(salt)};
  } else if constexpr (std::same_as<T, Place>) {
    return {static_cast<double>(number % 3), static_cast<std::int32_t>(rank)};
  } else {
    return static_cast<T>(sizeof(T) == 1 ? number % 4 : number);
  }
}

template <class T>
std::vector<T> elements(std::uint64_t salt, std::size_t rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = element<T>(salt, rank, i);
  return values;
}

/// Of each rank one element more than of the one before, one after the other.
struct LengthsThatGrow {
  LengthsThatGrow(std::size_t first, std::size_t ranks) {
    for (std::size_t rank = 0; rank < ranks; total += counts.back(), ++rank) {
      places.push_back(total);
      counts.push_back(first + rank);
    }
  }
  std::vector<std::size_t> counts, places;
  std::size_t total = 0;
};

/// The last that is not zero: another result in another order, but not with other brackets.
template <class T>
T last(const T& a, const T& b) {
  if constexpr (std::same_as<T, Cell>) {
    return b.id % 2 != 0 ? b : a;
  } else {
    return b != T{} ? b : a;
  }
}

template <class T>
concept Number = !std::same_as<T, Cell> && !std::same_as<T, Place>;

// Without the overflow of numbers that have a sign.
template <class T>
T product(T a, T b) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

/// Calls `body` with an operation for the library, and with what it does to two elements.
template <class T, class Body>
void with_op(std::uint64_t op, const Body& body) {
  using cobre::comm::ReduceOp;
  if constexpr (Number<T>) {
    switch (op % (std::integral<T> ? 12 : 6)) {
      case 0:
      case 1: return body(ReduceOp::Sum, [](T a, T b) { return static_cast<T>(a + b); });
      case 2: return body(ReduceOp::Max, [](T a, T b) { return std::max(a, b); });
      case 3: return body(ReduceOp::Min, [](T a, T b) { return std::min(a, b); });
      case 4: return body(ReduceOp::Prod, product<T>);
      default: break;
    }
  }
  if constexpr (std::integral<T>) {
    switch (op % 12) {
      case 5: return body(ReduceOp::BitwiseAnd, [](T a, T b) { return static_cast<T>(a & b); });
      case 6: return body(ReduceOp::BitwiseOr, [](T a, T b) { return static_cast<T>(a | b); });
      case 7: return body(ReduceOp::BitwiseXor, [](T a, T b) { return static_cast<T>(a ^ b); });
      case 8: return body(ReduceOp::LogicalAnd, [](T a, T b) { return static_cast<T>(a != 0 && b != 0); });
      case 9: return body(ReduceOp::LogicalOr, [](T a, T b) { return static_cast<T>(a != 0 || b != 0); });
      case 10: return body(ReduceOp::LogicalXor, [](T a, T b) { return static_cast<T>((a != 0) != (b != 0)); });
      default: break;
    }
  }
  if constexpr (std::same_as<T, Place>) {
    switch (op % 3) {
      case 0: return body(ReduceOp::MaxLoc, [](const T& a, const T& b) { return b.value > a.value ? b : a; });
      case 1: return body(ReduceOp::MinLoc, [](const T& a, const T& b) { return b.value < a.value ? b : a; });
      default: break;
    }
  }
  body(last<T>, last<T>);
}

}  // namespace stress
