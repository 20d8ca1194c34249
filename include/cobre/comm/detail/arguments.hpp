// From what the user passes to what a call holds: the steps that all operations share.
#pragma once

#include <cobre/comm/base/buffer.hpp>
#include <cobre/comm/detail/calls.hpp>
#include <cobre/comm/detail/preconditions.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace cobre::comm::detail {

template <class Buffer>
void check_packed(Where where, const Buffer& buffer) {
  if (!is_packed(buffer)) [[unlikely]]
    throw_not_contiguous(where);
}

/// Whether this rank touches a buffer at all: what only the root needs is not looked at elsewhere.
enum class Touched : bool { No, Yes };
[[nodiscard]] constexpr Touched only_on(std::size_t root, const Where& where) noexcept {
  return where.rank == root ? Touched::Yes : Touched::No;
}

/// As `check_memory`, with the length where the type of the buffer has it: less is left to be looked at then.
template <class Buffer, class T>
void check_memory_of(const Where& where, std::span<T> elements) {
  check_memory(where, std::span<T, static_extent_v<std::remove_cvref_t<Buffer>>>(elements));
}

/// The elements of a buffer that is only read.
template <class Buffer>
[[nodiscard]] auto checked_input(const Where& where, Buffer&& buffer, Touched touched = Touched::Yes) {
  check_packed(where, buffer);
  const auto elements = input(buffer);
  if (touched == Touched::Yes) check_memory_of<Buffer>(where, elements);
  return elements;
}

/// The elements of a buffer that is written.
template <class Buffer>
[[nodiscard]] auto checked_output(const Where& where, Buffer&& buffer, Touched touched = Touched::Yes) {
  check_packed(where, buffer);
  const auto elements = output(std::forward<Buffer>(buffer));
  if (touched == Touched::Yes) check_memory_of<Buffer>(where, elements);
  return elements;
}

template <class T, class U>
constexpr void require_same_elements(std::span<const T>, std::span<U>) {
  static_assert(std::is_same_v<T, U>, "send and recv must have the same element type");
}

/// One number a rank: on the stack for as many ranks as are usual, or on the heap.
class PerRank {
 public:
  explicit PerRank(std::size_t ranks) : ranks_(ranks) {
    if (ranks > few_.size()) many_ = std::make_unique<std::size_t[]>(ranks);
  }
  [[nodiscard]] std::span<std::size_t> values() noexcept {
    return {many_ == nullptr ? few_.data() : many_.get(), ranks_};
  }

 private:
  std::array<std::size_t, 64> few_;
  std::unique_ptr<std::size_t[]> many_;
  std::size_t ranks_;
};

/// Completes a reduction's record and call with what its elements and `op` say, and conducts it. `op` is a ReduceOp or
/// a callable, whose exception is rethrown here, above the gate.
template <class T, class Backend, class Op, class Call>
void conduct_reduction(const Backend& backend, Where where, Op&& op, OperationRecord record, Call call) {
  record.type = call.type = element_type_v<T>;
  record.element_size = static_cast<std::uint32_t>(call.element_size = sizeof(T));
  if constexpr (std::is_same_v<std::remove_cvref_t<Op>, ReduceOp>) {
    static_assert(Reducible<T>,
                  "a ReduceOp works on numbers, bool, std::byte, enums, std::complex and ValueIndex: "
                  "reduce any other type with a callable such as a lambda");
    check_defined(where, op, element_type_v<T>);
    record.reduction = static_cast<std::uint8_t>(op);
    call.op = op;
    backend.conduct(record, call);
  } else {
    static_assert(ReductionCallable<Op, T>,
                  "op must be a ReduceOp or a callable that takes two elements and returns one");
    CallableFold<T, std::remove_reference_t<Op>> combine(op);
    const Fold fold = combine.fold();
    record.reduction = callable_reduction;
    call.custom = &fold;
    call.thrown = &combine.error();
    backend.conduct(record, call);
    if (combine.error()) std::rethrow_exception(combine.error());
  }
}

}  // namespace cobre::comm::detail
