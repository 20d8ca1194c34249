// What each predefined reduction does with two elements.
//
// Included by translation units that are compiled for different instruction sets: everything is in an unnamed namespace
// and nothing inline is taken from the standard library, so that no function compiled for a newer processor can be
// merged with, and called in place of, one for the baseline.
#pragma once

#include <cobre/comm/base/element_type.hpp>

#include <cstddef>
#include <cstdint>

namespace cobre::comm::core {
namespace {

// Integers wrap on overflow, as unsigned arithmetic does; small ones must not be promoted to a signed int that traps.
template <class T>
using Wide = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, T>;

struct Sum {
  template <class T>
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
    } else {
      return a + b;
    }
  }
};

struct Prod {
  template <class T>
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
    } else {
      return a * b;
    }
  }
};

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Of two equal values only zeros can differ in their bits: OR keeps the sign of -0, AND drops it.
template <bool Lower, class T>
T choose_zero(T a, T b) {
  if constexpr (std::is_same_v<T, long double>) {
    return (__builtin_signbit(a) != 0) == Lower ? a : b;
  } else {
    const auto x = __builtin_bit_cast(BitsOf<T>, a);
    const auto y = __builtin_bit_cast(BitsOf<T>, b);
    return __builtin_bit_cast(T, Lower ? (x | y) : (x & y));
  }
}

// -0 is below +0 and NaN wins over everything, so that the result does not depend on the order of the ranks.
template <bool Lower, class T>
T extreme(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    T result = (Lower ? a < b : a > b) ? a : b;  // b where either is NaN
    result = a == b ? choose_zero<Lower>(a, b) : result;
    return a != a ? a : result;
  } else {
    return (Lower ? a < b : a > b) ? a : b;
  }
}

struct Min {
  template <class T>
  static T combine(T a, T b) {
    return extreme<true>(a, b);
  }
};
struct Max {
  template <class T>
  static T combine(T a, T b) {
    return extreme<false>(a, b);
  }
};

struct BitwiseAnd {
  template <class T>
  static T combine(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOr {
  template <class T>
  static T combine(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXor {
  template <class T>
  static T combine(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

struct LogicalAnd {
  template <class T>
  static T combine(T a, T b) {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct LogicalOr {
  template <class T>
  static T combine(T a, T b) {
    return static_cast<T>((a != 0) | (b != 0));
  }
};
struct LogicalXor {
  template <class T>
  static T combine(T a, T b) {
    return static_cast<T>((a != 0) ^ (b != 0));
  }
};

// Of two equal values (two NaNs included) the lower index wins.
template <bool Lower, class T>
ValueIndex<T> extreme_location(ValueIndex<T> a, ValueIndex<T> b) {
  bool take_a;
  bool tie;
  if constexpr (std::is_floating_point_v<T>) {
    const bool a_nan = a.value != a.value;
    const bool b_nan = b.value != b.value;
    const bool a_negative = __builtin_signbit(a.value) != 0;
    const bool b_negative = __builtin_signbit(b.value) != 0;
    const bool equal = a.value == b.value;
    tie = (a_nan && b_nan) || (equal && a_negative == b_negative);
    if (a_nan || b_nan) {
      take_a = a_nan;
    } else if (equal) {
      take_a = a_negative == Lower;
    } else {
      take_a = Lower ? a.value < b.value : a.value > b.value;
    }
  } else {
    tie = a.value == b.value;
    take_a = Lower ? a.value < b.value : a.value > b.value;
  }
  if (tie) return a.index <= b.index ? a : b;
  return take_a ? a : b;
}

struct MinLoc {
  template <class T>
  static T combine(T a, T b) {
    return extreme_location<true>(a, b);
  }
};
struct MaxLoc {
  template <class T>
  static T combine(T a, T b) {
    return extreme_location<false>(a, b);
  }
};

// std::complex<T> is an array of two T by definition; arithmetic is spelled out to stay free of library functions.
template <class T>
struct Complex {
  T re;
  T im;

  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }

  // The textbook product, and for infinities that it turns into NaN the rules of C's Annex G: an infinite factor
  // counts as a unit in its direction.
  friend Complex operator*(Complex a, Complex b) {
    const Complex product{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    if (product.re == product.re || product.im == product.im) [[likely]]
      return product;
    return recover(a, b, product);
  }

 private:
  static bool infinite(T x) { return __builtin_isinf(x) != 0; }
  static T unit(T x) {
    return infinite(x) ? (__builtin_signbit(x) ? T{-1} : T{1}) : (__builtin_signbit(x) ? -T{0} : T{0});
  }
  static T number(T x) { return x != x ? (__builtin_signbit(x) ? -T{0} : T{0}) : x; }

  static Complex recover(Complex a, Complex b, Complex product) {
    bool infinite_factor = false;
    const T ac = a.re * b.re;
    const T bd = a.im * b.im;
    const T ad = a.re * b.im;
    const T bc = a.im * b.re;
    if (infinite(a.re) || infinite(a.im)) {
      a = {unit(a.re), unit(a.im)};
      b = {number(b.re), number(b.im)};
      infinite_factor = true;
    }
    if (infinite(b.re) || infinite(b.im)) {
      b = {unit(b.re), unit(b.im)};
      a = {number(a.re), number(a.im)};
      infinite_factor = true;
    }
    if (!infinite_factor && (infinite(ac) || infinite(bd) || infinite(ad) || infinite(bc))) {
      a = {number(a.re), number(a.im)};
      b = {number(b.re), number(b.im)};
      infinite_factor = true;
    }
    if (!infinite_factor) return product;
    const T huge = static_cast<T>(__builtin_inf());
    return {huge * (a.re * b.re - a.im * b.im), huge * (a.re * b.im + a.im * b.re)};
  }
};

}  // namespace
}  // namespace cobre::comm::core
