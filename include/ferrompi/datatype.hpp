// How C++ types are described to MPI.
//
// Numbers, bool, std::byte, the character types, std::complex, enums, ValueIndex and std::array of these are known.
// A struct is described by one line at namespace scope:
//
//     struct Particle { std::array<double, 3> position; float mass; int id; };
//     FERROMPI_DATATYPE(Particle, position, mass, id);
//
// or travels as plain bytes, padding included, between processes of one architecture:
//
//     template <> inline constexpr bool ferrompi::send_as_bytes<Particle> = true;
#pragma once

#include <cobre/comm/base/element_type.hpp>
#include <ferrompi/detail/mpi.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>

namespace ferrompi {

using cobre::comm::ElementType;
using cobre::comm::ValueIndex;

/// Specialise to true to move a trivially copyable type as bytes.
template <class T>
inline constexpr bool send_as_bytes = false;

/// The members of a struct that travel, as a tuple of pointers to members; FERROMPI_DATATYPE writes it.
template <class T>
inline constexpr std::tuple<> members{};

namespace detail {

/// One member of a struct: `count` elements of `type` at `offset` bytes.
struct Field {
  std::size_t offset;
  std::size_t count;
  MPI_Datatype type;
};

/// A committed type that is freed at finalize. `extent` is the distance from one element to the next.
[[nodiscard]] MPI_Datatype make_struct_type(std::span<const Field> fields, std::size_t extent);

template <class T>
inline constexpr bool has_members = !std::is_same_v<std::remove_cv_t<decltype(members<T>)>, std::tuple<>>;

template <class T>
inline constexpr bool is_value_index = false;
template <class V>
inline constexpr bool is_value_index<ValueIndex<V>> = true;

template <class T>
struct ArrayTraits {
  static constexpr bool is_array = false;
};
template <class T, std::size_t N>
struct ArrayTraits<std::array<T, N>> {
  static constexpr bool is_array = true;
  static constexpr std::size_t size = N;
  using element = T;
};

template <class T>
consteval bool is_datatype() {
  if constexpr (!cobre::comm::CommData<T>) {
    return false;
  } else if constexpr (ArrayTraits<T>::is_array) {
    return is_datatype<typename ArrayTraits<T>::element>();
  } else {
    return cobre::comm::element_type_v<T> != ElementType::Opaque || has_members<T> || send_as_bytes<T>;
  }
}

/// MPI's own type for an element, or MPI_DATATYPE_NULL where it has none.
FERROMPI_INLINE MPI_Datatype predefined_type(ElementType type) {
  switch (type) {
    case ElementType::Int8: return MPI_INT8_T;
    case ElementType::Int16: return MPI_INT16_T;
    case ElementType::Int32: return MPI_INT32_T;
    case ElementType::Int64: return MPI_INT64_T;
    case ElementType::UInt8: return MPI_UINT8_T;
    case ElementType::UInt16: return MPI_UINT16_T;
    case ElementType::UInt32: return MPI_UINT32_T;
    case ElementType::UInt64: return MPI_UINT64_T;
    case ElementType::Float: return MPI_FLOAT;
    case ElementType::Double: return MPI_DOUBLE;
    case ElementType::LongDouble: return MPI_LONG_DOUBLE;
    case ElementType::Bool: return MPI_C_BOOL;
    case ElementType::Byte: return MPI_BYTE;
    case ElementType::ComplexFloat: return MPI_C_FLOAT_COMPLEX;
    case ElementType::ComplexDouble: return MPI_C_DOUBLE_COMPLEX;
    case ElementType::ComplexLongDouble: return MPI_C_LONG_DOUBLE_COMPLEX;
    case ElementType::Int16Index: return MPI_SHORT_INT;
    case ElementType::Int32Index: return MPI_2INT;
    case ElementType::Int64Index: return MPI_LONG_INT;
    case ElementType::FloatIndex: return MPI_FLOAT_INT;
    case ElementType::DoubleIndex: return MPI_DOUBLE_INT;
    case ElementType::LongDoubleIndex: return MPI_LONG_DOUBLE_INT;
    default: return MPI_DATATYPE_NULL;
  }
}

/// Whether MPI has a type of its own for elements of this kind.
[[nodiscard]] constexpr bool has_predefined_type(ElementType type) noexcept {
  switch (type) {
    case ElementType::Opaque:
    case ElementType::Int8Index:
    case ElementType::UInt8Index:
    case ElementType::UInt16Index:
    case ElementType::UInt32Index:
    case ElementType::UInt64Index: return false;
    default: return true;
  }
}

// The pair types of MPI are those of C structs of the same members.
static_assert(sizeof(short) == 2 && sizeof(int) == 4 && sizeof(long) == 8, "MPI's pair types are named after C types");

template <class T>
MPI_Datatype derived_type();

}  // namespace detail

/// What ferrompi can send: see the top of this file.
template <class T>
concept Datatype = detail::is_datatype<T>();

/// The MPI datatype of `T`. Derived ones are made and committed once and freed at finalize.
template <class T>
[[nodiscard]] FERROMPI_INLINE MPI_Datatype datatype_of() {
  static_assert(Datatype<T>,
                "ferrompi does not know how to send this type: describe its members with FERROMPI_DATATYPE(Type, "
                "member, ...), or specialise ferrompi::send_as_bytes<Type> to move it as bytes");
  constexpr auto tag = cobre::comm::element_type_v<T>;
  if constexpr (detail::has_predefined_type(tag)) {
    return detail::predefined_type(tag);
  } else if constexpr (Datatype<T>) {
    return detail::derived_type<T>();
  } else {
    return MPI_DATATYPE_NULL;
  }
}

namespace detail {

template <class Member>
Field field_of(std::size_t offset) {
  using Element = std::remove_all_extents_t<Member>;
  static_assert(Datatype<Element>,
                "a member of this struct is of a type that ferrompi does not know: describe it with "
                "FERROMPI_DATATYPE first");
  // NOLINTNEXTLINE(bugprone-sizeof-expression): 1 where the member is no array
  return {offset, sizeof(Member) / sizeof(Element), datatype_of<Element>()};
}

template <class T, class Member>
Field field_of(const T& sample, Member T::*member) {
  const auto* base = reinterpret_cast<const std::byte*>(&sample);
  const auto* at = reinterpret_cast<const std::byte*>(&(sample.*member));
  return field_of<Member>(static_cast<std::size_t>(at - base));
}

template <class T>
MPI_Datatype make_derived_type() {
  if constexpr (has_members<T>) {
    const T sample{};
    return std::apply(
        [&](auto... member) {
          const Field fields[] = {field_of(sample, member)...};
          return make_struct_type(fields, sizeof(T));
        },
        members<T>);
  } else if constexpr (is_value_index<T>) {
    const T sample{};
    const Field fields[] = {field_of(sample, &T::value), field_of(sample, &T::index)};
    return make_struct_type(fields, sizeof(T));
  } else if constexpr (ArrayTraits<T>::is_array) {
    const Field fields[] = {{0, ArrayTraits<T>::size, datatype_of<typename ArrayTraits<T>::element>()}};
    return make_struct_type(fields, sizeof(T));
  } else {
    const Field fields[] = {{0, sizeof(T), MPI_BYTE}};
    return make_struct_type(fields, sizeof(T));
  }
}

template <class T>
MPI_Datatype derived_type() {
  static const MPI_Datatype type = make_derived_type<T>();
  return type;
}

}  // namespace detail
}  // namespace ferrompi

// FERROMPI_DATATYPE(Type, member, ...): up to 256 members, by recursion over __VA_OPT__.
#define FERROMPI_DATATYPE(Type, ...)              \
  template <>                                     \
  inline constexpr auto ferrompi::members<Type> = \
      std::make_tuple(FERROMPI_EXPAND(FERROMPI_MEMBERS(Type, __VA_ARGS__)))
#define FERROMPI_MEMBERS(Type, first, ...) \
  &Type::first __VA_OPT__(, FERROMPI_MORE_MEMBERS FERROMPI_PARENS(Type, __VA_ARGS__))
#define FERROMPI_MORE_MEMBERS() FERROMPI_MEMBERS
#define FERROMPI_PARENS ()
#define FERROMPI_EXPAND(...) FERROMPI_EXPAND_4(FERROMPI_EXPAND_4(FERROMPI_EXPAND_4(FERROMPI_EXPAND_4(__VA_ARGS__))))
#define FERROMPI_EXPAND_4(...) FERROMPI_EXPAND_3(FERROMPI_EXPAND_3(FERROMPI_EXPAND_3(FERROMPI_EXPAND_3(__VA_ARGS__))))
#define FERROMPI_EXPAND_3(...) FERROMPI_EXPAND_2(FERROMPI_EXPAND_2(FERROMPI_EXPAND_2(FERROMPI_EXPAND_2(__VA_ARGS__))))
#define FERROMPI_EXPAND_2(...) FERROMPI_EXPAND_1(FERROMPI_EXPAND_1(FERROMPI_EXPAND_1(FERROMPI_EXPAND_1(__VA_ARGS__))))
#define FERROMPI_EXPAND_1(...) __VA_ARGS__
