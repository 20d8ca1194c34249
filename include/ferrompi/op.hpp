// What a reduction does: one of the predefined operations, or any callable.
#pragma once

#include <cobre/comm/base/reduce_op.hpp>
#include <ferrompi/datatype.hpp>
#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/detail/reduction.hpp>

#include <type_traits>
#include <utility>

namespace ferrompi {

using cobre::comm::ReduceOp;

/// A callable whose arguments may be swapped, which leaves MPI free to choose faster algorithms. Made by `commutative`.
template <class F>
struct Commutative {
  F function;
};

/// `world.allreduce(send, recv, commutative([scale](double a, double b) { return ...; }))`. A callable is taken to be
/// associative in any case, and to commute only if this says so.
template <class F>
[[nodiscard]] constexpr Commutative<std::decay_t<F>> commutative(F&& function) {
  return {std::forward<F>(function)};
}

namespace detail {

template <class F>
inline constexpr bool is_commutative = false;
template <class F>
inline constexpr bool is_commutative<Commutative<F>> = true;

template <class O>
inline constexpr bool is_reduce_op = std::is_same_v<std::remove_cvref_t<O>, ReduceOp>;

/// The smaller or larger of two values with their places; of equal values the lowest place. MPI has pair types for
/// six value types, this is for the others.
template <class T, bool Smaller>
void pick_location(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* from = static_cast<const T*>(in);
  auto* to = static_cast<T*>(inout);
  for (int i = 0; i < *count; ++i) {
    const bool better = Smaller ? from[i].value < to[i].value : to[i].value < from[i].value;
    const bool equal = from[i].value == to[i].value;
    if (better || (equal && from[i].index < to[i].index)) to[i] = from[i];
  }
}

template <class T, bool Smaller>
MPI_Op location_op() {
  static const MPI_Op op = make_op(&pick_location<T, Smaller>);
  return op;
}

/// The smaller or larger of two values, for those that the library does not order as the language does.
template <class T, bool Smaller>
void pick_value(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* from = static_cast<const T*>(in);
  auto* to = static_cast<T*>(inout);
  for (int i = 0; i < *count; ++i) {
    if (Smaller ? from[i] < to[i] : to[i] < from[i]) to[i] = from[i];
  }
}

template <class T, bool Smaller>
MPI_Op order_op() {
  static const MPI_Op op = make_op(&pick_value<T, Smaller>);
  return op;
}

/// Whether the library's own MPI_MIN and MPI_MAX are wrong for elements of `T`.
template <class T>
inline constexpr bool is_ordered_wrongly = orders_unsigned_wrongly&& cobre::comm::element_type_v<T> >=
                                           ElementType::UInt8&& cobre::comm::element_type_v<T> <= ElementType::UInt64;

/// Whether MPI's own operation stands for `op` on elements of `T`, of which `reduces_natively`.
template <class T>
[[nodiscard]] constexpr bool is_native(ReduceOp op) noexcept {
  return !is_ordered_wrongly<T> || (op != ReduceOp::Min && op != ReduceOp::Max);
}

/// The MPI_Op of `op` for elements of `T`. `op` is defined for them: that was checked.
template <class T>
FERROMPI_INLINE MPI_Op native_op(ReduceOp op) {
  constexpr auto type = cobre::comm::element_type_v<T>;
  if constexpr (type == ElementType::Bool) {
    // MPI knows only the logical operations on booleans; on 0 and 1 the others say the same.
    switch (op) {
      case ReduceOp::Min:
      case ReduceOp::BitwiseAnd:
      case ReduceOp::LogicalAnd: return MPI_LAND;
      case ReduceOp::Max:
      case ReduceOp::BitwiseOr:
      case ReduceOp::LogicalOr: return MPI_LOR;
      default: return MPI_LXOR;
    }
  } else if constexpr (is_value_index<T> && !has_predefined_type(type)) {
    return op == ReduceOp::MinLoc ? location_op<T, true>() : location_op<T, false>();
  } else {
    if constexpr (is_ordered_wrongly<T>) {
      if (op == ReduceOp::Min) return order_op<T, true>();
      if (op == ReduceOp::Max) return order_op<T, false>();
    }
    switch (op) {
      case ReduceOp::Sum: return MPI_SUM;
      case ReduceOp::Prod: return MPI_PROD;
      case ReduceOp::Min: return MPI_MIN;
      case ReduceOp::Max: return MPI_MAX;
      case ReduceOp::BitwiseAnd: return MPI_BAND;
      case ReduceOp::BitwiseOr: return MPI_BOR;
      case ReduceOp::BitwiseXor: return MPI_BXOR;
      case ReduceOp::LogicalAnd: return MPI_LAND;
      case ReduceOp::LogicalOr: return MPI_LOR;
      case ReduceOp::LogicalXor: return MPI_LXOR;
      case ReduceOp::MinLoc: return MPI_MINLOC;
      case ReduceOp::MaxLoc: return MPI_MAXLOC;
    }
    return MPI_OP_NULL;
  }
}

/// Whether MPI itself implements every reduction of `T`, whatever the count. Functions of ours count in int.
template <class T>
inline constexpr bool reduces_natively = has_predefined_type(cobre::comm::element_type_v<T>);

/// What a callable needs to reduce elements of `T`.
template <class O, class T>
consteval void require_reduction() {
  if constexpr (is_reduce_op<O>) {
    static_assert(cobre::comm::Reducible<T>,
                  "a ReduceOp works on numbers, bool, std::byte, enums and ValueIndex: reduce other types with a "
                  "callable that takes two elements and returns one");
  } else {
    static_assert(Datatype<T>,
                  "ferrompi does not know how to send this type: describe its members with FERROMPI_DATATYPE");
    if constexpr (is_commutative<std::remove_cvref_t<O>>) {
      require_reduction<decltype(std::declval<O&>().function), T>();
    } else {
      static_assert(std::is_invocable_r_v<T, std::remove_cvref_t<O>&, const T&, const T&>,
                    "the operation of a reduction is a ReduceOp or a callable that takes two elements and returns one");
    }
  }
}

}  // namespace detail
}  // namespace ferrompi
