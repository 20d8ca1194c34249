// Folds several sources in one pass, every element along the canonical tree (see <cobre/comm/detail/fold.hpp>).
// Vectorised across elements and never inside one element's sum, so the bits do not depend on the instruction set.
//
// Compiled once for each instruction set, with COBRE_COMM_KERNEL_TABLE naming the table to define.

#include "comm/core/reduction/kernels.hpp"

#include "comm/core/reduction/combine.hpp"

// The output may be one of the sources, element for element; iterations are independent all the same.
#if defined(__clang__)
#define COBRE_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define COBRE_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

namespace cobre::comm::core {
namespace {

constexpr std::size_t block_bytes = 4096;  // partial results of a block stay in the first-level cache

template <class T>
const T* source(const void* const* sources, std::size_t index, std::size_t offset) {
  return static_cast<const T*>(sources[index]) + offset;
}

// Up to four sources: the whole tree in registers.
template <class Op, class T>
void fold_few(T* into, const void* const* sources, std::size_t n, std::size_t offset, std::size_t count) {
  const T* const a = source<T>(sources, 0, offset);
  if (n == 1) {
    if (into != a && count > 0) __builtin_memmove(into, a, count * sizeof(T));
    return;
  }
  const T* const b = source<T>(sources, 1, offset);
  if (n == 2) {
    COBRE_INDEPENDENT_ITERATIONS
    for (std::size_t i = 0; i < count; ++i) into[i] = Op::combine(a[i], b[i]);
    return;
  }
  const T* const c = source<T>(sources, 2, offset);
  if (n == 3) {
    COBRE_INDEPENDENT_ITERATIONS
    for (std::size_t i = 0; i < count; ++i) into[i] = Op::combine(Op::combine(a[i], b[i]), c[i]);
    return;
  }
  const T* const d = source<T>(sources, 3, offset);
  COBRE_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) {
    into[i] = Op::combine(Op::combine(a[i], b[i]), Op::combine(c[i], d[i]));
  }
}

template <class Op, class T>
void fold_block(T* into, const void* const* sources, std::size_t n, std::size_t offset, std::size_t count) {
  if (n <= 4) return fold_few<Op, T>(into, sources, n, offset, count);
  const std::size_t left = std::size_t{1} << (63 - __builtin_clzl(n - 1));  // canonical_split, without the library
  T right[block_bytes / sizeof(T)];
  fold_block<Op, T>(into, sources, left, offset, count);
  fold_block<Op, T>(right, sources + left, n - left, offset, count);
  for (std::size_t i = 0; i < count; ++i) into[i] = Op::combine(into[i], right[i]);
}

template <class Op, class T>
void fold(void*, void* into, const void* const* sources, std::size_t n, std::size_t count) {
  auto* const out = static_cast<T*>(into);
  if (n <= 4) return fold_few<Op, T>(out, sources, n, 0, count);
  constexpr std::size_t block = block_bytes / sizeof(T);
  // Through a block of our own: where `into` is one of the sources, it must not be written before all are read.
  T partial[block];
  for (std::size_t offset = 0; offset < count; offset += block) {
    const std::size_t length = count - offset < block ? count - offset : block;
    fold_block<Op, T>(partial, sources, n, offset, length);
    __builtin_memcpy(out + offset, partial, length * sizeof(T));
  }
}

struct TableBuilder {
  KernelTable table{};

  template <class Op, class T>
  constexpr void add(ReduceOp op, ElementType type) {
    table.kernels[static_cast<int>(op)][static_cast<int>(type)] = &fold<Op, T>;
  }

  // What is the same on the bits of signed and unsigned numbers is compiled once, for the unsigned ones.
  template <class Unsigned, class Signed>
  constexpr void add_integers(ElementType unsigned_type, ElementType signed_type) {
    for (const ElementType type : {unsigned_type, signed_type}) {
      add<Sum, Unsigned>(ReduceOp::Sum, type);
      add<Prod, Unsigned>(ReduceOp::Prod, type);
      add<BitwiseAnd, Unsigned>(ReduceOp::BitwiseAnd, type);
      add<BitwiseOr, Unsigned>(ReduceOp::BitwiseOr, type);
      add<BitwiseXor, Unsigned>(ReduceOp::BitwiseXor, type);
      add<LogicalAnd, Unsigned>(ReduceOp::LogicalAnd, type);
      add<LogicalOr, Unsigned>(ReduceOp::LogicalOr, type);
      add<LogicalXor, Unsigned>(ReduceOp::LogicalXor, type);
    }
    add<Min, Unsigned>(ReduceOp::Min, unsigned_type);
    add<Max, Unsigned>(ReduceOp::Max, unsigned_type);
    add<Min, Signed>(ReduceOp::Min, signed_type);
    add<Max, Signed>(ReduceOp::Max, signed_type);
  }

  template <class T>
  constexpr void add_real(ElementType type) {
    add<Sum, T>(ReduceOp::Sum, type);
    add<Prod, T>(ReduceOp::Prod, type);
    add<Min, T>(ReduceOp::Min, type);
    add<Max, T>(ReduceOp::Max, type);
  }

  template <class T>
  constexpr void add_complex(ElementType type) {
    add<Sum, Complex<T>>(ReduceOp::Sum, type);
    add<Prod, Complex<T>>(ReduceOp::Prod, type);
  }

  template <class T>
  constexpr void add_location(ElementType type) {
    add<MinLoc, ValueIndex<T>>(ReduceOp::MinLoc, type);
    add<MaxLoc, ValueIndex<T>>(ReduceOp::MaxLoc, type);
  }
};

constexpr KernelTable build_table() {
  TableBuilder build;
  build.add_integers<std::uint8_t, std::int8_t>(ElementType::UInt8, ElementType::Int8);
  build.add_integers<std::uint16_t, std::int16_t>(ElementType::UInt16, ElementType::Int16);
  build.add_integers<std::uint32_t, std::int32_t>(ElementType::UInt32, ElementType::Int32);
  build.add_integers<std::uint64_t, std::int64_t>(ElementType::UInt64, ElementType::Int64);
  build.add_real<float>(ElementType::Float);
  build.add_real<double>(ElementType::Double);
  build.add_real<long double>(ElementType::LongDouble);
  build.add_complex<float>(ElementType::ComplexFloat);
  build.add_complex<double>(ElementType::ComplexDouble);
  build.add_complex<long double>(ElementType::ComplexLongDouble);
  build.add_location<std::int8_t>(ElementType::Int8Index);
  build.add_location<std::int16_t>(ElementType::Int16Index);
  build.add_location<std::int32_t>(ElementType::Int32Index);
  build.add_location<std::int64_t>(ElementType::Int64Index);
  build.add_location<std::uint8_t>(ElementType::UInt8Index);
  build.add_location<std::uint16_t>(ElementType::UInt16Index);
  build.add_location<std::uint32_t>(ElementType::UInt32Index);
  build.add_location<std::uint64_t>(ElementType::UInt64Index);
  build.add_location<float>(ElementType::FloatIndex);
  build.add_location<double>(ElementType::DoubleIndex);
  build.add_location<long double>(ElementType::LongDoubleIndex);
  // A bool is a byte that holds 0 or 1: its order and its truth are operations on those bits.
  build.add<BitwiseAnd, std::uint8_t>(ReduceOp::Min, ElementType::Bool);
  build.add<BitwiseOr, std::uint8_t>(ReduceOp::Max, ElementType::Bool);
  for (const ElementType type : {ElementType::Bool, ElementType::Byte}) {
    build.add<BitwiseAnd, std::uint8_t>(ReduceOp::BitwiseAnd, type);
    build.add<BitwiseOr, std::uint8_t>(ReduceOp::BitwiseOr, type);
    build.add<BitwiseXor, std::uint8_t>(ReduceOp::BitwiseXor, type);
  }
  build.add<BitwiseAnd, std::uint8_t>(ReduceOp::LogicalAnd, ElementType::Bool);
  build.add<BitwiseOr, std::uint8_t>(ReduceOp::LogicalOr, ElementType::Bool);
  build.add<BitwiseXor, std::uint8_t>(ReduceOp::LogicalXor, ElementType::Bool);
  return build.table;
}

}  // namespace

constinit const KernelTable COBRE_COMM_KERNEL_TABLE = build_table();

}  // namespace cobre::comm::core
