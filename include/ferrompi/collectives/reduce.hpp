// reduce, allreduce, scan, exscan: element by element over the ranks.
#pragma once

#include <ferrompi/detail/aside.hpp>
#include <ferrompi/detail/reduce.hpp>

#include <algorithm>

namespace ferrompi::detail {
inline namespace FERROMPI_VARIANT {

/// Everyone gets the reduction over all ranks.
struct Allreduce : ElementwiseReduction<Allreduce> {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Allreduce, allreduce);
};

/// Rank r gets the reduction over ranks 0 to r.
struct Scan : ElementwiseReduction<Scan> {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Scan, scan);
};

/// Rank r gets the reduction over ranks 0 to r-1. On rank 0 `recv` stays as it was, a container that is moved in too,
/// and the value forms give `T{}`.
struct Exscan : ElementwiseReduction<Exscan> {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Exscan, exscan);
  static constexpr bool leaves_first_rank_alone = true;

  template <class T>
  static void adjust(Nonblocking& form, const Group& group, T& value) {
    if (group.rank == 0) ensure(form.hold).finish = [&value] { value = T{}; };
  }
};

/// The root gets the reduction over all ranks; elsewhere `recv` is ignored and may be empty.
struct Reduce : ElementwiseReduction<Reduce> {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Reduce, reduce);
  static constexpr std::size_t one_buffer_arity = 3;

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.send, args.recv, static_cast<Count>(args.count), args.type, args.op, args.root, args.comm,
                    tail...);
  }

  template <class Form, BufferLike S, BufferLike R, class O>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, R&& recv, O&& op, int root) {
    require_same_elements<S, R>();
    const MPI_Comm comm = group.native;  // read first: see `launch`
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    checks.root(root);
    if (group.rank == root) {
      checks.equal(from.size(), to.size());
      checks.apart(from, to);
    }
    return reduce<Reduce, element_t<S>>(form, checks, {from.data(), to.data(), from.size(), root, comm},
                                        std::forward<O>(op));
  }

  /// The result replaces the root's buffer; the other buffers are only read.
  template <class Form, BufferLike B, class O>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer, O&& op, int root) {
    const MPI_Comm comm = group.native;  // read first: see `launch`
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    checks.root(root);
    if constexpr (is_blocking<Form> && reduces_in_place_wrongly) {
      if (group.rank == root && root != 0) {
        const Aside<element_t<B>> copy(elements.size());
        std::ranges::copy(elements, copy.data());
        return run(form, group, std::span(copy.data(), elements.size()), elements, std::forward<O>(op), root);
      }
    }
    const void* send = group.rank == root ? MPI_IN_PLACE : elements.data();
    return reduce<Reduce, element_t<B>>(form, checks, {send, elements.data(), elements.size(), root, comm},
                                        std::forward<O>(op));
  }

  /// A container in, the same container out: with the result on the root, as it was elsewhere.
  template <GivenAway B, class O>
  FERROMPI_INLINE static std::remove_cvref_t<B> run(const Blocking& form, const Group& group, B&& buffer, O&& op,
                                                    int root) {
    return hand_through(std::forward<B>(buffer),
                        [&](auto& kept) { run_inplace(form, group, kept, std::forward<O>(op), root); });
  }

  /// One value a rank; the root gets the result, the others their own value back.
  template <Value T, class O>
  FERROMPI_INLINE static T run(const Blocking& form, const Group& group, const T& value, O&& op, int root) {
    T result = value;
    run(form, group, std::span<const T, 1>(&value, 1), std::span<T, 1>(&result, 1), std::forward<O>(op), root);
    return result;
  }
};

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
