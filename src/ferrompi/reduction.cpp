#include <ferrompi/detail/reduction.hpp>

#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/error.hpp>

#include <algorithm>
#include <climits>
#include <memory>
#include <utility>

namespace ferrompi::detail {

namespace {

constexpr const char* operation = "reduction";

MPI_Op create_op(MPI_User_function* function, bool commutative) {
  attach(operation);
  MPI_Op op = MPI_OP_NULL;
  check(MPI_Op_create(function, commutative ? 1 : 0, &op), operation);
  run_at_finalize([op]() mutable { MPI_Op_free(&op); });
  return op;
}

int create_key() {
  attach(operation);
  int key = MPI_KEYVAL_INVALID;
  check(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, nullptr), operation);
  run_at_finalize([key]() mutable { MPI_Type_free_keyval(&key); });
  return key;
}

// The attribute under which a datatype carries its reduction.
int reduction_key() {
  static const int key = create_key();
  return key;
}

// MPI forbids communication here, and asking a datatype for an attribute is none. The standard promises that `type`
// is the datatype that was passed to the reduction.
void combine_by_attribute(void* in, void* inout, int* count, MPI_Datatype* type) {
  void* reduction = nullptr;
  int found = 0;
  MPI_Type_get_attr(*type, reduction_key(), &reduction, &found);
  if (found != 0) static_cast<Reduction*>(reduction)->combine(in, inout, static_cast<std::size_t>(*count));
}

MPI_Op op_by_attribute(bool commutative) {
  static const MPI_Op ops[] = {create_op(&combine_by_attribute, false), create_op(&combine_by_attribute, true)};
  return ops[commutative ? 1 : 0];
}

}  // namespace

MPI_Op make_op(MPI_User_function* function) {
  return create_op(function, true);
}

// Where the library would try to cut it, a large unit is never said to commute, although it may.
Reduction::Reduction(MPI_Datatype element, std::size_t unit, bool commutative)
    : type_(MPI_DATATYPE_NULL), op_(op_by_attribute(commutative && (unit == 1 || !cuts_large_elements))), unit_(unit) {
  if (unit == 1) {
    check(MPI_Type_dup(element, &type_), operation);
  } else {
    type_ = make_contiguous_type(element, unit);
  }
  const int code = MPI_Type_set_attr(type_, reduction_key(), this);
  if (code != MPI_SUCCESS) {
    MPI_Type_free(&type_);
    check(code, operation);
  }
}

Reduction::~Reduction() {
  if (mpi_is_usable()) MPI_Type_free(&type_);
}

void Reduction::throw_failure() {
  std::rethrow_exception(take_failure());
}

void Reduction::combine(const void* in, void* inout, std::size_t units) noexcept {
  if (failure_) return;
  try {
    apply(in, inout, units * unit_);
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void LentReduction::apply(const void* in, void* inout, std::size_t count) {
  function_(callable_, in, inout, count);
}

void Lender::fail(LentReduction* reduction, int code, const char* what) {
  const auto failure = reduction->take_failure();
  put_back(reduction);
  check(code, what);
  std::rethrow_exception(failure);
}

void Lender::make(MPI_Datatype element, bool commutative) {
  // Nothing is read that the one who was first wrote: who finds it made waits for nobody.
  if (is_made_.exchange(true, std::memory_order_relaxed)) return;
  auto made = std::make_unique<LentReduction>(element, commutative);
  run_at_finalize([this] { delete take(); });
  put_back(made.release());
}

LargeReduction::LargeReduction(MPI_Datatype element, std::size_t unit, MPI_Op op)
    : Reduction(element, unit, true), element_(element), inner_(op) {
  MPI_Aint lower = 0;
  check(MPI_Type_get_extent(element, &lower, &extent_), operation);
}

void LargeReduction::apply(const void* in, void* inout, std::size_t count) {
  const auto* from = static_cast<const std::byte*>(in);
  auto* to = static_cast<std::byte*>(inout);
  // Pieces that stay in the cache while both operands are read and one is written.
  constexpr std::size_t piece = std::size_t{1} << 14;
  for (std::size_t done = 0; done < count;) {
    const auto length = std::min(piece, count - done);
    const auto offset = static_cast<std::ptrdiff_t>(done) * extent_;
    check(MPI_Reduce_local(from + offset, to + offset, static_cast<int>(length), element_, inner_), operation);
    done += length;
  }
}

}  // namespace ferrompi::detail
