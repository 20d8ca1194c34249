// What an accumulate does to the target: a reduction, or one of the two operations that exist only here.
#pragma once

#include <cobre/comm/base/reduce_op.hpp>
#include <ferrompi/datatype.hpp>
#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/op.hpp>

#include <iosfwd>

namespace ferrompi {

/// Any `ReduceOp` is one; `Replace` and `NoOp` mean nothing in a collective reduction, so it does not accept them.
class AccumulateOp {
 public:
  // Implicit: a ReduceOp means the same here.
  constexpr AccumulateOp(ReduceOp op) noexcept : code_(static_cast<int>(op)) {}

  /// The target becomes the origin: an atomic store, or an atomic exchange when fetching.
  static const AccumulateOp Replace;  // NOLINT(readability-identifier-naming): stands beside the ReduceOps
  /// The target stays: an atomic load when fetching.
  static const AccumulateOp NoOp;  // NOLINT(readability-identifier-naming)

  /// Only for a reduction.
  [[nodiscard]] constexpr ReduceOp reduce_op() const noexcept { return static_cast<ReduceOp>(code_); }
  friend constexpr bool operator==(AccumulateOp, AccumulateOp) noexcept = default;

 private:
  enum class Special : int { Replace = -1, NoOp = -2 };
  constexpr explicit AccumulateOp(Special special) noexcept : code_(static_cast<int>(special)) {}

  int code_;
};

inline constexpr AccumulateOp AccumulateOp::Replace{Special::Replace};
inline constexpr AccumulateOp AccumulateOp::NoOp{Special::NoOp};

[[nodiscard]] constexpr const char* to_string(AccumulateOp op) noexcept {
  if (op == AccumulateOp::Replace) return "Replace";
  if (op == AccumulateOp::NoOp) return "NoOp";
  return to_string(op.reduce_op());
}
std::ostream& operator<<(std::ostream& out, AccumulateOp op);

namespace detail {

[[noreturn]] void throw_undefined_accumulate(const char* operation, AccumulateOp op, ElementType type);
[[noreturn]] void throw_wrong_accumulate(const char* operation, AccumulateOp op, ElementType type);

/// The MPI_Op, once it is known to exist for elements of `T`.
template <class T>
[[nodiscard]] MPI_Op native_accumulate_op(AccumulateOp op, const char* operation) {
  constexpr auto type = cobre::comm::element_type_v<T>;
  static_assert(has_predefined_type(type),
                "accumulate and fetch_op work on the element types that MPI has itself: numbers, bool, std::byte, "
                "complex numbers, and ValueIndex of int16, int32, int64, float, double or long double");
  if (op == AccumulateOp::Replace) return MPI_REPLACE;
  if (op == AccumulateOp::NoOp) return MPI_NO_OP;
  if (!cobre::comm::is_defined(op.reduce_op(), type)) throw_undefined_accumulate(operation, op, type);
  if (!is_native<T>(op.reduce_op())) throw_wrong_accumulate(operation, op, type);
  return native_op<T>(op.reduce_op());
}

}  // namespace detail
}  // namespace ferrompi
