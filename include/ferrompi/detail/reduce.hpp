// What all reductions share: the operation, be it predefined or a callable, and counts beyond an int.
#pragma once

#include <ferrompi/detail/buffers.hpp>
#include <ferrompi/detail/checks.hpp>
#include <ferrompi/detail/engine.hpp>
#include <ferrompi/op.hpp>

#include <memory>

namespace ferrompi::detail {

struct ReduceArgs {
  const void* send;
  void* recv;
  std::size_t count;
  int root;
  MPI_Comm comm;
  int size = 0;  // of the communicator, where the operation asks: what nobody asks for is not even read
  // Filled in by `reduce`:
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  bool native = true;  // MPI's own op, which takes 64-bit counts wherever the function does
};

inline namespace FERROMPI_VARIANT {

/// The arguments of a reduction whose operation is a callable: the reduction becomes part of the datatype.
inline void reduce_by(ReduceArgs& args, const Reduction& reduction, bool large) {
  args.type = reduction.type();
  args.op = reduction.op();
  if (large) args.count = 1;
}

/// What MPI moves elements by while a function of ours reduces them. That function copies whole elements, but where the
/// type ends with its last member the library's own buffers do too, without the padding behind it.
template <class T>
MPI_Datatype whole_element_type() {
  if constexpr (has_predefined_type(cobre::comm::element_type_v<T>) && !is_value_index<T>) {
    return datatype_of<T>();
  } else {
    static const MPI_Datatype type = [] {
      const Field fields[] = {{0, sizeof(T), MPI_BYTE}};
      return make_struct_type(fields, sizeof(T));
    }();
    return type;
  }
}

/// With a callable and a datatype of its own, which live on the stack of a blocking call and in the request otherwise.
template <class Op, class T, bool Commutes, class Form, class F>
auto reduce_with_own_type(Form&& form, typename Op::Args args, F&& function) {
  const bool large = Op::is_one_unit(args);
  const auto unit = large ? args.count : 1;
  if constexpr (is_blocking<Form>) {
    CallableReduction<T, F&> reduction(whole_element_type<T>(), unit, Commutes, function);
    reduce_by(args, reduction, large);
    form.template issue<Op>(args);
    reduction.rethrow();
  } else {
    using Reduction = CallableReduction<T, std::decay_t<F>>;
    auto reduction = std::make_unique<Reduction>(whole_element_type<T>(), unit, Commutes, std::forward<F>(function));
    reduce_by(args, *reduction, large);
    ensure(form.hold).reduction = std::move(reduction);
    return form.template issue<Op>(args);
  }
}

/// The first blocking call, one beside another that has what is lent, and one with more elements than an int counts.
template <class Op, class T, bool Commutes, class F>
[[gnu::cold, gnu::noinline]] void reduce_without_loan(const Blocking& form, const typename Op::Args& args,
                                                      F& function) {
  lender<T, Commutes>.make(whole_element_type<T>(), Commutes);
  reduce_with_own_type<Op, T, Commutes>(form, args, function);
}

/// With a callable.
template <class Op, class T, bool Commutes, class Form, class F>
FERROMPI_INLINE auto reduce_with(Form&& form, typename Op::Args args, F&& function) {
  args.native = false;
  if constexpr (is_blocking<Form>) {
    using Function = std::remove_reference_t<F>;
    if constexpr (std::is_function_v<Function>) {
      auto* pointer = &function;
      return reduce_with<Op, T, Commutes>(form, args, pointer);
    } else {
      const CallGuard guard(form.operation);
      LentReduction* const lent = Op::is_one_unit(args) ? nullptr : lender<T, Commutes>.take();
      if (lent == nullptr) [[unlikely]] {
        auto&& cold_form = cold_copy(form);
        return reduce_without_loan<Op, T, Commutes>(cold_form, cold_copy(args), function);
      }
      lent->reduce_by(
          [](void* callable, const void* in, void* inout, std::size_t count) {
            auto& combine = *static_cast<Function*>(callable);
            const auto* from = static_cast<const T*>(in);
            auto* to = static_cast<T*>(inout);
            for (std::size_t i = 0; i < count; ++i) to[i] = combine(from[i], to[i]);
          },
          const_cast<void*>(static_cast<const void*>(std::addressof(function))));
      reduce_by(args, *lent, false);
      const int code = call<Op>(Op::blocking, Op::blocking_large, args);
      if (code != MPI_SUCCESS || lent->has_failed()) [[unlikely]] {
        lender<T, Commutes>.fail(lent, code, form.operation);
      }
      lender<T, Commutes>.put_back(lent);
    }
  } else {
    return reduce_with_own_type<Op, T, Commutes>(form, args, std::forward<F>(function));
  }
}

/// Runs the reduction `Op` on elements of `T` with `op`, a ReduceOp or a callable.
template <class Op, class T, class Form, class O>
FERROMPI_INLINE auto reduce(Form&& form, const Checks& checks, typename Op::Args args, O&& op) {
  require_reduction<O, T>();
  if constexpr (is_reduce_op<O>) {
    checks.defined<T>(op);
    if constexpr (reduces_natively<T>) {
      args.type = datatype_of<T>();
    } else {
      args.type = whole_element_type<T>();
    }
    args.op = native_op<T>(op);
    args.native = reduces_natively<T> && is_native<T>(op);
    return launch<Op>(form, args);
  } else if constexpr (is_commutative<std::remove_cvref_t<O>>) {
    return reduce_with<Op, T, true>(form, args, std::forward<O>(op).function);
  } else {
    return reduce_with<Op, T, false>(form, args, std::forward<O>(op));
  }
}

/// Gives the container back that was moved in, after `reduce` has worked on it. It is moved when all is done: who gets
/// an error still has it.
template <class B, class F>
FERROMPI_INLINE std::remove_cvref_t<B> hand_through(B&& buffer, F reduce) {
  if constexpr (std::is_const_v<B>) {
    auto copy = buffer;
    reduce(copy);
    return copy;
  } else {
    reduce(buffer);
    return std::forward<B>(buffer);
  }
}

/// An element-by-element reduction: `Self` adds the MPI functions.
template <class Self>
struct ElementwiseReduction : CollectiveTraits {
  using Args = ReduceArgs;
  static constexpr bool leaves_first_rank_alone = false;
  static constexpr unsigned buffers = 0b11;
  static constexpr std::size_t one_buffer_arity = 2;

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.send, args.recv, static_cast<Count>(args.count), args.type, args.op, args.comm, tail...);
  }
  static constexpr bool counts_are_large(const Args& args) { return exceeds_int(args.count); }
  static constexpr bool must_shrink(const Args& args) {
    return (!has_large_counts || !args.native) && Self::counts_are_large(args);
  }
  /// Whether a reduction of ours sees all elements as one, because an int cannot count them.
  static constexpr bool is_one_unit(const Args& args) { return Self::counts_are_large(args); }
  static void shrink(Args& args, Hold& hold) {
    hold.reduction = std::make_unique<LargeReduction>(args.type, args.count, args.op);
    reduce_by(args, *hold.reduction, true);
  }

  template <class Form, BufferLike S, BufferLike R, class O>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, R&& recv, O&& op) {
    static_assert(lengths_may_agree<S, R>, "send and recv must have the same length");
    require_same_elements<S, R>();
    const MPI_Comm comm = group.native;
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    checks.equal(from.size(), to.size());
    checks.apart(from, to);
    return reduce<Self, element_t<S>>(form, checks, {from.data(), to.data(), from.size(), 0, comm},
                                      std::forward<O>(op));
  }

  template <class Form, BufferLike B, class O>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer, O&& op) {
    const MPI_Comm comm = group.native;
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    return reduce<Self, element_t<B>>(form, checks, {MPI_IN_PLACE, elements.data(), elements.size(), 0, comm},
                                      std::forward<O>(op));
  }

  /// A container in, the same container out.
  template <GivenAway B, class O>
  FERROMPI_INLINE static std::remove_cvref_t<B> run(const Blocking& form, const Group& group, B&& buffer, O&& op) {
    return hand_through(std::forward<B>(buffer),
                        [&](auto& kept) { Self::run_inplace(form, group, kept, std::forward<O>(op)); });
  }

  /// One value in, one value out.
  template <Value T, class O>
  FERROMPI_INLINE static T run(const Blocking& form, const Group& group, const T& value, O&& op) {
    T result;  // MPI writes it, but for members that do not travel, and on a rank that nothing comes before
    if constexpr (Self::leaves_first_rank_alone) {
      result = T{};
    } else if constexpr (!has_predefined_type(cobre::comm::element_type_v<T>)) {
      result = value;
    }
    run(form, group, std::span<const T, 1>(&value, 1), std::span<T, 1>(&result, 1), std::forward<O>(op));
    return result;
  }
};

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
