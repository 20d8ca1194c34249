// Data that every rank can work out for every other rank, and an independent oracle for reductions.
#pragma once

#include <cobre/comm.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace conformance {

using cobre::comm::ReduceOp;
using cobre::comm::ValueIndex;

enum class Colour : std::uint16_t { Red, Green, Blue };

// Odd in every way: seven bytes, alignment one.
struct Seven {
  std::uint8_t bytes[7];
  friend bool operator==(const Seven&, const Seven&) = default;
};

struct Particle {
  double position[3];
  std::int32_t charge;
  friend bool operator==(const Particle&, const Particle&) = default;
};

inline std::uint64_t noise(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return cobre::comm::detail::mix(cobre::comm::detail::mix(cobre::comm::detail::mix(a) ^ b) ^ c);
}

// From 2⁻²⁶ to 2²⁶.
template <class T>
inline constexpr auto powers_of_two = [] {
  std::array<T, 53> powers{};
  for (std::size_t i = 0; i < 26; ++i) powers[i] = T{1} / static_cast<T>(1ULL << (26 - i));
  for (std::size_t i = 26; i < powers.size(); ++i) powers[i] = static_cast<T>(1ULL << (i - 26));
  return powers;
}();

// Numbers whose sum depends on the order: magnitudes from 1e-8 to 1e8, both signs. Every byte that the suite moves is
// made here, so nothing is called for it.
template <class T>
T floating(std::uint64_t bits) {
  const auto mantissa = static_cast<T>(static_cast<std::int64_t>(bits >> 11)) / static_cast<T>(1ULL << 52);
  return (mantissa - T{1}) * powers_of_two<T>[bits % powers_of_two<T>.size()];
}

template <class T>
struct Make {
  static T from(std::uint64_t bits) {
    if constexpr (std::is_same_v<T, bool>) {
      return (bits & 1) != 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      return floating<T>(bits);
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(static_cast<std::underlying_type_t<T>>(bits));
    } else {
      return static_cast<T>(bits);
    }
  }
};
template <class T>
struct Make<std::complex<T>> {
  static std::complex<T> from(std::uint64_t bits) {
    return {floating<T>(bits), floating<T>(cobre::comm::detail::mix(bits))};
  }
};
template <class T>
struct Make<ValueIndex<T>> {
  // Few different values, so that ties are common.
  static ValueIndex<T> from(std::uint64_t bits) {
    return {static_cast<T>(bits % 4), static_cast<std::int32_t>(bits >> 40)};
  }
};
template <>
struct Make<Seven> {
  static Seven from(std::uint64_t bits) {
    Seven result{};
    std::memcpy(result.bytes, &bits, sizeof result.bytes);
    return result;
  }
};
template <>
struct Make<Particle> {
  static Particle from(std::uint64_t bits) {
    return {{floating<double>(bits), floating<double>(bits + 1), floating<double>(bits + 2)},
            static_cast<std::int32_t>(bits)};
  }
};

/// The elements that `rank` contributes to operation `salt`.
template <class T>
std::vector<T> contribution(std::size_t rank, std::size_t count, std::uint64_t salt = 0) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = Make<T>::from(noise(rank, i, salt));
  return values;
}
template <>
inline std::vector<bool> contribution<bool>(std::size_t, std::size_t, std::uint64_t) = delete;  // no bool elements

/// Equal bit for bit; NaNs are equal whatever they carry.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b && std::signbit(a) == std::signbit(b);
  } else {
    return a == b;
  }
}
template <class T>
bool same(const std::complex<T>& a, const std::complex<T>& b) {
  return same(a.real(), b.real()) && same(a.imag(), b.imag());
}
template <class T>
bool same(const ValueIndex<T>& a, const ValueIndex<T>& b) {
  return same(a.value, b.value) && a.index == b.index;
}

/// Two elements combined, from the definition of each operation.
template <class T>
T combined(ReduceOp op, T a, T b) {
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, std::byte>) {
    using U = std::underlying_type_t<T>;
    return static_cast<T>(combined<U>(op, static_cast<U>(a), static_cast<U>(b)));
  } else if constexpr (std::is_same_v<T, std::byte>) {
    return std::byte{combined<unsigned char>(op, std::to_integer<unsigned char>(a), std::to_integer<unsigned char>(b))};
  } else if constexpr (requires { a.value; }) {
    using V = decltype(a.value);
    const V winner = combined<V>(op == ReduceOp::MinLoc ? ReduceOp::Min : ReduceOp::Max, a.value, b.value);
    const bool from_a = same(winner, a.value);
    const bool from_b = same(winner, b.value);
    if (from_a && from_b) return {winner, std::min(a.index, b.index)};
    return from_a ? a : b;
  } else if constexpr (std::is_integral_v<T>) {
    const auto wide = [](T x) { return static_cast<std::uint64_t>(x); };
    switch (op) {
      case ReduceOp::Sum: return static_cast<T>(wide(a) + wide(b));
      case ReduceOp::Prod: return static_cast<T>(wide(a) * wide(b));
      case ReduceOp::Min: return std::min(a, b);
      case ReduceOp::Max: return std::max(a, b);
      case ReduceOp::BitwiseAnd: return static_cast<T>(wide(a) & wide(b));
      case ReduceOp::BitwiseOr: return static_cast<T>(wide(a) | wide(b));
      case ReduceOp::BitwiseXor: return static_cast<T>(wide(a) ^ wide(b));
      case ReduceOp::LogicalAnd: return static_cast<T>(a && b);
      case ReduceOp::LogicalOr: return static_cast<T>(a || b);
      case ReduceOp::LogicalXor: return static_cast<T>(!a != !b);
      default: return T{};
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    if (op == ReduceOp::Sum) return a + b;
    if (op == ReduceOp::Prod) return a * b;
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return (op == ReduceOp::Min) == std::signbit(a) ? a : b;
    return op == ReduceOp::Min ? std::min(a, b) : std::max(a, b);
  } else {
    return op == ReduceOp::Sum ? a + b : a * b;
  }
}

/// The low-bit-first binomial tree, step by step as the contract words it: rank i merges into i & (i - 1).
template <class T, class F>
T merge_in_place(std::span<T> values, F&& combine) {
  for (std::size_t bit = 1; bit < values.size(); bit *= 2) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if ((i & bit) != 0 && (i & (bit - 1)) == 0) values[i & (i - 1)] = combine(values[i & (i - 1)], values[i]);
    }
  }
  return values[0];
}
template <class T, class F>
T merged(std::vector<T> values, F&& combine) {
  return merge_in_place(std::span<T>(values), combine);
}

/// What an allreduce over `size` ranks must give for the contributions of `salt`.
template <class T>
std::vector<T> expected_reduction(ReduceOp op, std::size_t size, std::size_t count, std::uint64_t salt) {
  std::vector<std::vector<T>> inputs;
  for (std::size_t rank = 0; rank < size; ++rank) inputs.push_back(contribution<T>(rank, count, salt));
  std::vector<T> result(count);
  std::vector<T> column(size);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t rank = 0; rank < size; ++rank) column[rank] = inputs[rank][i];
    result[i] = merge_in_place(std::span<T>(column), [op](T a, T b) { return combined(op, a, b); });
  }
  return result;
}

template <class A, class B>
std::size_t first_difference(const A& a, const B& b) {
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && same(a[i], b[i])) ++i;
  return i;
}

/// Every element equal, or the place of the first that is not.
template <class A, class B>
testing::AssertionResult all_same(const A& actual, const B& expected) {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure() << actual.size() << " elements instead of " << expected.size();
  }
  const std::size_t place = first_difference(actual, expected);
  if (place == actual.size()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "element " << place << " of " << actual.size() << " is "
                                     << testing::PrintToString(actual[place]) << " instead of "
                                     << testing::PrintToString(expected[place]);
}

template <class... Ts, class F>
void for_each_type(F&& f) {
  (f.template operator()<Ts>(), ...);
}

/// Calls f.operator()<T>() with every element type that a ReduceOp knows (bool apart: no vector of it has elements).
template <class F>
void for_each_reducible(F&& f) {
  for_each_type<char, signed char, unsigned char, wchar_t, char8_t, char16_t, char32_t, short, unsigned short, int,
                unsigned, long, unsigned long, long long, unsigned long long, float, double, long double, std::byte,
                Colour, std::complex<float>, std::complex<double>, std::complex<long double>, ValueIndex<std::int8_t>,
                ValueIndex<std::int16_t>, ValueIndex<std::int32_t>, ValueIndex<std::int64_t>, ValueIndex<std::uint8_t>,
                ValueIndex<std::uint16_t>, ValueIndex<std::uint32_t>, ValueIndex<std::uint64_t>, ValueIndex<float>,
                ValueIndex<double>, ValueIndex<long double>>(std::forward<F>(f));
}

/// The same with one element type of each kind.
template <class F>
void for_each_kind(F&& f) {
  for_each_type<char, int, double, std::byte, Colour, std::complex<float>, ValueIndex<double>>(std::forward<F>(f));
}

/// A type comes to a backend as a tag and a size. So all of them are tried behind the type that holds any backend; with
/// a backend's own type C, one of each kind shows that they get there.
template <class C, class F>
void for_each_reducible_over(F&& f) {
  if constexpr (std::is_same_v<C, cobre::comm::CommBackend>) {
    for_each_reducible(std::forward<F>(f));
  } else {
    for_each_kind(std::forward<F>(f));
  }
}

inline constexpr ReduceOp all_ops[] = {ReduceOp::Sum,        ReduceOp::Prod,       ReduceOp::Min,
                                       ReduceOp::Max,        ReduceOp::BitwiseAnd, ReduceOp::BitwiseOr,
                                       ReduceOp::BitwiseXor, ReduceOp::LogicalAnd, ReduceOp::LogicalOr,
                                       ReduceOp::LogicalXor, ReduceOp::MinLoc,     ReduceOp::MaxLoc};

/// Sizes around every boundary that an implementation may have.
inline constexpr std::size_t awkward_sizes[] = {1, 2, 3, 5, 7, 8, 9, 31, 63, 64, 65, 127, 255, 1000, 4097, 65537};

}  // namespace conformance
