// The canonical reduction: several sources become one, every element along the same tree.
//
// The tree is the low-bit-first binomial tree over the source index: source i merges into i & (i - 1), lower index on
// the left. It depends on the number of sources alone, so every algorithm, message size and backend that follows it
// gives the same bits. A power-of-two block of sources that starts at a multiple of its length is a whole subtree,
// which is what lets a fold be split: tree(n) = tree(first p) + tree(the rest), p the largest power of two below n.
#pragma once

#include <cobre/comm/base/reduce_op.hpp>

#include <bit>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>

namespace cobre::comm::detail {

/// A reduction with its types erased. `apply(into, sources, n, count)` may be given one of the sources as `into`, but
/// no buffer that overlaps a source otherwise. It never throws: a callable's exception waits in the context.
struct Fold {
  using Function = void (*)(void* context, void* into, const void* const* sources, std::size_t n, std::size_t count);

  Function function = nullptr;
  void* context = nullptr;

  void apply(void* into, const void* const* sources, std::size_t n, std::size_t count) const {
    function(context, into, sources, n, count);
  }
};

/// The compiled kernel of a predefined reduction; `is_defined(op, type)` holds.
[[nodiscard]] Fold predefined_fold(ReduceOp op, ElementType type) noexcept;

/// Where the canonical tree of n sources splits: left of it lies a whole subtree.
[[nodiscard]] constexpr std::size_t canonical_split(std::size_t n) noexcept {
  return std::bit_floor(n - 1);
}

/// A user's callable as a fold. Lives on the caller's stack for the length of one operation.
template <class T, class F>
class CallableFold {
 public:
  explicit CallableFold(F& combine) noexcept : combine_(combine) {}

  [[nodiscard]] Fold fold() noexcept { return {&CallableFold::run, this}; }

  /// After the operation: what the callable threw, if anything.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

 private:
  static void run(void* context, void* into, const void* const* sources, std::size_t n, std::size_t count) {
    auto& self = *static_cast<CallableFold*>(context);
    auto* out = static_cast<T*>(into);
    try {
      for (std::size_t i = 0; i < count; ++i) out[i] = self.tree(sources, n, i);
    } catch (...) {
      if (!self.error_) self.error_ = std::current_exception();
    }
  }

  T tree(const void* const* sources, std::size_t n, std::size_t i) {
    if (n == 1) return static_cast<const T*>(sources[0])[i];
    const std::size_t left = canonical_split(n);
    return std::invoke(combine_, branch(sources, left, i), branch(sources + left, n - left, i));
  }

  // A compiler that inlined the recursion would keep the values of all its levels on one frame of the stack, which
  // large elements do not allow.
  T branch(const void* const* sources, std::size_t n, std::size_t i) {
    if constexpr (sizeof(T) > 256) {
      return branch_on_its_own_frame(sources, n, i);
    } else {
      return tree(sources, n, i);
    }
  }
  [[gnu::noinline]] T branch_on_its_own_frame(const void* const* sources, std::size_t n, std::size_t i) {
    return tree(sources, n, i);
  }

  F& combine_;
  std::exception_ptr error_;
};

/// What `allreduce` takes in place of a ReduceOp: associative, T x T -> T. It need not commute.
template <class F, class T>
concept ReductionCallable =
    !std::same_as<std::remove_cvref_t<F>, ReduceOp> && std::is_invocable_r_v<T, F&, const T&, const T&>;

}  // namespace cobre::comm::detail
