// What a buffer may hold: the types that move, the types that reduce, and the tag by which compiled code knows them.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <ranges>
#include <type_traits>

namespace cobre::comm {

/// A value and where it was found. MinLoc and MaxLoc work on it; of equal values the lowest index wins.
template <class T>
struct ValueIndex {
  T value;
  std::int32_t index;

  friend bool operator==(const ValueIndex&, const ValueIndex&) = default;
};

/// The representation of one element. Types of equal representation (`long` and `long long`, `char` and its
/// signed or unsigned twin, an enum and its underlying type) share a tag, so every backend treats them alike.
enum class ElementType : std::uint8_t {
  Opaque,  // any other trivially copyable type: moves as bytes, reduces only through a callable
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float,
  Double,
  LongDouble,
  Bool,
  Byte,
  ComplexFloat,
  ComplexDouble,
  ComplexLongDouble,
  Int8Index,  // from here on: ValueIndex of the type that is named first
  Int16Index,
  Int32Index,
  Int64Index,
  UInt8Index,
  UInt16Index,
  UInt32Index,
  UInt64Index,
  FloatIndex,
  DoubleIndex,
  LongDoubleIndex,
};

inline constexpr std::size_t element_type_count = static_cast<std::size_t>(ElementType::LongDoubleIndex) + 1;

namespace detail {

template <class T>
consteval ElementType integer_element_type() {
  constexpr int row = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : sizeof(T) == 8 ? 3 : -1;
  if constexpr (row < 0) return ElementType::Opaque;  // 128-bit integers move, but do not reduce
  constexpr auto first = std::is_signed_v<T> ? ElementType::Int8 : ElementType::UInt8;
  return static_cast<ElementType>(static_cast<int>(first) + row);
}

template <class T>
struct ElementTypeOf {
  static consteval ElementType get() {
    if constexpr (std::same_as<T, bool>) return ElementType::Bool;
    if constexpr (std::same_as<T, std::byte>) return ElementType::Byte;
    if constexpr (std::is_enum_v<T> && !std::same_as<T, std::byte>) {
      return ElementTypeOf<std::underlying_type_t<T>>::get();
    }
    if constexpr (std::same_as<T, float>) return ElementType::Float;
    if constexpr (std::same_as<T, double>) return ElementType::Double;
    if constexpr (std::same_as<T, long double>) return ElementType::LongDouble;
    if constexpr (std::integral<T> && !std::same_as<T, bool>) return integer_element_type<T>();
    return ElementType::Opaque;
  }
};

template <>
struct ElementTypeOf<std::complex<float>> {
  static consteval ElementType get() { return ElementType::ComplexFloat; }
};
template <>
struct ElementTypeOf<std::complex<double>> {
  static consteval ElementType get() { return ElementType::ComplexDouble; }
};
template <>
struct ElementTypeOf<std::complex<long double>> {
  static consteval ElementType get() { return ElementType::ComplexLongDouble; }
};

template <class T>
struct ElementTypeOf<ValueIndex<T>> {
  static consteval ElementType get() {
    constexpr auto value = ElementTypeOf<T>::get();
    if constexpr (value >= ElementType::Int8 && value <= ElementType::LongDouble) {
      return static_cast<ElementType>(static_cast<int>(value) - static_cast<int>(ElementType::Int8) +
                                      static_cast<int>(ElementType::Int8Index));
    }
    return ElementType::Opaque;
  }
};

template <class T>
struct IsReferenceLike : std::bool_constant<std::is_pointer_v<T> || std::is_member_pointer_v<T> ||
                                            std::is_null_pointer_v<T> || std::ranges::view<T>> {};
template <class T>
struct IsReferenceLike<std::reference_wrapper<T>> : std::true_type {};
template <class T>
struct IsReferenceLike<std::initializer_list<T>> : std::true_type {};

}  // namespace detail

/// What may travel: plain bytes that mean the same in another process. A pointer, span or view does not.
template <class T>
concept CommData =
    std::is_object_v<T> && !std::is_array_v<T> && std::same_as<T, std::remove_cv_t<T>> &&
    std::is_trivially_copyable_v<T> && std::default_initializable<T> && !detail::IsReferenceLike<T>::value;

/// The tag of `T`.
template <class T>
inline constexpr ElementType element_type_v = detail::ElementTypeOf<std::remove_cv_t<T>>::get();

/// What a `ReduceOp` works on. Any other `CommData` reduces through a callable.
template <class T>
concept Reducible = CommData<T> && element_type_v<T>
!= ElementType::Opaque;

/// Name of the C++ type behind a tag, for messages: `double`, `std::complex<float>`, `ValueIndex<int32>`.
[[nodiscard]] constexpr const char* to_string(ElementType type) noexcept {
  switch (type) {
    case ElementType::Opaque: return "bytes";
    case ElementType::Int8: return "int8";
    case ElementType::Int16: return "int16";
    case ElementType::Int32: return "int32";
    case ElementType::Int64: return "int64";
    case ElementType::UInt8: return "uint8";
    case ElementType::UInt16: return "uint16";
    case ElementType::UInt32: return "uint32";
    case ElementType::UInt64: return "uint64";
    case ElementType::Float: return "float";
    case ElementType::Double: return "double";
    case ElementType::LongDouble: return "long double";
    case ElementType::Bool: return "bool";
    case ElementType::Byte: return "std::byte";
    case ElementType::ComplexFloat: return "std::complex<float>";
    case ElementType::ComplexDouble: return "std::complex<double>";
    case ElementType::ComplexLongDouble: return "std::complex<long double>";
    case ElementType::Int8Index: return "ValueIndex<int8>";
    case ElementType::Int16Index: return "ValueIndex<int16>";
    case ElementType::Int32Index: return "ValueIndex<int32>";
    case ElementType::Int64Index: return "ValueIndex<int64>";
    case ElementType::UInt8Index: return "ValueIndex<uint8>";
    case ElementType::UInt16Index: return "ValueIndex<uint16>";
    case ElementType::UInt32Index: return "ValueIndex<uint32>";
    case ElementType::UInt64Index: return "ValueIndex<uint64>";
    case ElementType::FloatIndex: return "ValueIndex<float>";
    case ElementType::DoubleIndex: return "ValueIndex<double>";
    case ElementType::LongDoubleIndex: return "ValueIndex<long double>";
  }
  return "unknown element type";
}
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, ElementType type) {
  return out << to_string(type);
}

}  // namespace cobre::comm
