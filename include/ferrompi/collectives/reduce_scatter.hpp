// reduce_scatter_block, reduce_scatter: reduce over the ranks, then share the result out.
#pragma once

#include <ferrompi/collectives/reduce.hpp>
#include <ferrompi/detail/reduce.hpp>
#include <ferrompi/detail/with_layout.hpp>

#include <algorithm>
#include <memory>
#include <span>

namespace ferrompi::detail {
inline namespace FERROMPI_VARIANT {

/// Rank r gets block r of the reduction over all ranks.
struct ReduceScatterBlock : ElementwiseReduction<ReduceScatterBlock> {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Reduce_scatter_block, reduce_scatter_block);
  static constexpr std::size_t shared_out_arity = 2;  // send, op

  // With a function of ours the library may combine all blocks in one call, whose count is an int; and some libraries
  // place the blocks of their own reductions by an int.
  static constexpr bool counts_are_large(const Args& args) {
    if (!args.native || fails_beyond_int) return together_exceed_int(args.count, args.size);
    return blocks_exceed_int(args.count, args.size);
  }
  static constexpr bool must_shrink(const Args& args) {
    return (!has_large_counts || fails_beyond_int || !args.native) && counts_are_large(args);
  }

  template <class Form, BufferLike S, BufferLike R, class O>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, R&& recv, O&& op) {
    require_same_elements<S, R>();
    const MPI_Comm comm = group.native;  // read first: see `launch`
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    checks.blocks(from.size(), to.size());
    checks.apart(from, to);
    return reduce<ReduceScatterBlock, element_t<S>>(
        form, checks, {from.data(), to.data(), to.size(), 0, comm, group.size}, std::forward<O>(op));
  }

  /// One value for every rank.
  template <BufferLike S, class O>
  FERROMPI_INLINE static element_t<S> run(const Blocking& form, const Group& group, S&& send, O&& op) {
    element_t<S> value{};
    run(form, group, std::forward<S>(send), std::span<element_t<S>, 1>(&value, 1), std::forward<O>(op));
    return value;
  }

  /// The buffer holds all blocks before, and this rank's block at its start after; the rest is unspecified.
  template <class Form, BufferLike B, class O>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer, O&& op) {
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    checks.divisible(elements.size());
    const auto count = elements.size() / static_cast<std::size_t>(group.size);
    return reduce<ReduceScatterBlock, element_t<B>>(
        form, checks, {MPI_IN_PLACE, elements.data(), count, 0, group.native, group.size}, std::forward<O>(op));
  }
};

/// Rank r gets its `counts[r]` elements of the reduction over all ranks. Every rank passes the same counts.
struct ReduceScatter : CollectiveTraits {
  struct Args : ReduceArgs {
    Layout layout;
  };
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Reduce_scatter, reduce_scatter);
  static constexpr unsigned buffers = 0b11;

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.send, args.recv, args.layout.counts_as<Count>(), args.type, args.op, args.comm, tail...);
  }
  static bool counts_are_large(const Args& args) { return args.layout.wide(); }
  static constexpr bool is_one_unit(const Args&) { return false; }
  static constexpr bool must_shrink(const Args&) { return false; }
  static void shrink(Args&, Hold&) {}

  template <class Form, BufferLike S, BufferLike R, class C, class O>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, R&& recv, const C& counts, O&& op) {
    require_same_elements<S, R>();
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    if (FERROMPI_CHECKS) {
      check_counts(form.operation, group, integers_of(counts), from.size());
      check_own_count(form.operation, group, integers_of(counts), to.size());
      checks.apart(from, to);
    }
    return scatter<element_t<S>>(form, checks, group, {from.data(), to.data(), from.size(), 0, group.native}, counts,
                                 std::forward<O>(op));
  }

  /// The buffer holds all parts before, and this rank's part at its start after; the rest is unspecified.
  template <class Form, BufferLike B, class C, class O>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer, const C& counts, O&& op) {
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    if (FERROMPI_CHECKS) check_counts(form.operation, group, integers_of(counts), elements.size());
    if constexpr (scatters_in_place_wrongly) {
      // Every rank knows all counts, so every rank decides alike.
      if (parts_overlap_front(counts) && !needs_whole<element_t<B>, O>(elements.size())) [[unlikely]] {
        const ReduceArgs args{elements.data(), elements.data(), elements.size(), 0, group.native};
        auto&& cold_form = cold_copy(form);
        if constexpr (is_reduce_op<O>) {
          return scatter_aside<element_t<B>>(cold_form, group, args, counts, cold_copy(op));
        } else {
          return scatter_aside<element_t<B>>(cold_form, group, args, counts, std::forward<O>(op));
        }
      }
    }
    return scatter<element_t<B>>(form, checks, group, {MPI_IN_PLACE, elements.data(), elements.size(), 0, group.native},
                                 counts, std::forward<O>(op));
  }

 private:
  // Whether a vector of this length cannot be counted by the library, or by a function of ours that it calls.
  template <class T, class O>
  static constexpr bool needs_whole(std::size_t length) {
    constexpr bool native = is_reduce_op<O> && reduces_natively<T>;
    return (!has_large_counts || fails_beyond_int || !native) && exceeds_int(length);
  }

  // Whether some rank's part lies less than its own length from the front.
  template <class C>
  FERROMPI_INLINE static bool parts_overlap_front(const C& counts) {
    std::int64_t before = 0;
    for (const auto count : std::span(cobre::comm::detail::data_of(counts), cobre::comm::detail::size_of(counts))) {
      const auto length = static_cast<std::int64_t>(count);
      if (before > 0 && before < length) [[unlikely]] {
        return true;
      }
      before += length;
    }
    return false;
  }

  // In place for the caller, but not for MPI: the part is received elsewhere and copied to the front at the end.
  template <class T, class Form, class C, class O>
  [[gnu::cold, gnu::noinline]] static auto scatter_aside(Form& form, const Group& group, ReduceArgs args,
                                                         const C& counts, O&& op) {
    const Checks checks(form.operation, group);
    const auto own = static_cast<std::size_t>(at(integers_of(counts), static_cast<std::size_t>(group.rank)));
    auto* const front = static_cast<T*>(args.recv);
    if constexpr (is_blocking<Form>) {
      const Aside<T> aside(own);
      args.recv = aside.data();
      scatter<T>(form, checks, group, args, counts, std::forward<O>(op));
      std::copy_n(aside.data(), own, front);
    } else {
      const std::shared_ptr<T[]> aside = std::make_shared_for_overwrite<T[]>(own);
      args.recv = aside.get();
      ensure(form.hold).finish = [aside, own, front] { std::copy_n(aside.get(), own, front); };
      return scatter<T>(form, checks, group, args, counts, std::forward<O>(op));
    }
  }

  // `args.count` is the length of the whole vector.
  template <class T, class Form, class C, class O>
  FERROMPI_INLINE static auto scatter(Form& form, const Checks& checks, const Group& group, const ReduceArgs& args,
                                      const C& counts, O&& op) {
    if (needs_whole<T, O>(args.count)) [[unlikely]] {
      auto&& cold_form = cold_copy(form);
      return scatter_large<T, handed_on<O>>(cold_form, group, args, integers_of(counts), std::forward<O>(op));
    }
    if constexpr (is_blocking<Form> && !has_large_counts && sizeof(integer_t<C>) == 8) {
      // All together fit an int, so each does.
      const auto size = static_cast<std::size_t>(group.size);
      const auto* const wide = cobre::comm::detail::data_of(counts);
      int* const narrow_counts = arrays_for(size).integers;
      for (std::size_t r = 0; r < size; ++r) narrow_counts[r] = static_cast<int>(wide[r]);
      return reduce<ReduceScatter, T>(form, checks, {args, {narrow_counts, narrow_counts}}, std::forward<O>(op));
    }
    // Displacements are not part of this operation: the counts stand in for them.
    return with_layout(form, group, counts, counts, [&](auto& with, const Layout& layout) {
      Args full{args, layout};
      return reduce<ReduceScatter, T>(with, checks, full, std::forward<O>(op));
    });
  }

  // By value where it is small, so that no call has to keep it in memory for the one that is cold.
  template <class O>
  using handed_on = std::conditional_t<is_reduce_op<O>, ReduceOp, O&&>;

  // The whole vector everywhere, of which each rank keeps its part: more traffic, any length.
  template <class T, class O, class Form>
  [[gnu::cold, gnu::noinline]] static auto scatter_large(Form& form, const Group& group, ReduceArgs args,
                                                         const Integers& counts, O op) {
    const Checks checks(form.operation, group);
    const auto rank = static_cast<std::size_t>(group.rank);
    std::int64_t before = 0;
    for (std::size_t r = 0; r < rank; ++r) before += at(counts, r);
    auto* const result = static_cast<T*>(args.recv);
    std::shared_ptr<T[]> memory;
    if (args.send != MPI_IN_PLACE) {
      memory = std::make_shared_for_overwrite<T[]>(args.count);
      args.recv = memory.get();
    }
    auto* const whole = static_cast<T*>(args.recv);
    auto keep_own = [memory, result, from = whole + before, own = at(counts, rank)] { std::copy_n(from, own, result); };
    if constexpr (is_blocking<Form>) {
      reduce<Allreduce, T>(form, checks, args, std::forward<O>(op));
      keep_own();
    } else {
      ensure(form.hold).finish = std::move(keep_own);
      return reduce<Allreduce, T>(form, checks, args, std::forward<O>(op));
    }
  }
};

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
