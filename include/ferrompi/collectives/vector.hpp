// gatherv, scatterv, allgatherv, alltoallv: parts of any length, placed by counts and displacements in elements.
//
// Counts and displacements are contiguous ranges of any integer type. Of rooted operations only the root needs them;
// elsewhere they may be empty, but must be of the same type as on the root.
#pragma once

#include <ferrompi/detail/exchange.hpp>
#include <ferrompi/detail/far_parts.hpp>
#include <ferrompi/detail/with_layout.hpp>

#include <array>

namespace ferrompi::detail {
inline namespace FERROMPI_VARIANT {

/// One rank's part on one side, everybody's on the other.
struct VectorArgs {
  void* single;       // what this rank sends or receives
  std::size_t count;  // its length
  void* whole;        // what holds a part of every rank
  Layout layout;
  MPI_Datatype type;
  int root;
  MPI_Comm comm;
};

struct VectorOperation : CollectiveTraits {
  using Args = VectorArgs;
  static constexpr unsigned buffers = 0b11;

  static bool counts_are_large(const Args& args) { return args.layout.wide() || exceeds_int(args.count); }
  static constexpr bool must_shrink(const Args&) { return false; }
  static void shrink(Args&, Hold&) {}

  /// Whether `counts` and `displs` may hold what this library's counts cannot, on any rank.
  template <class C, class D>
  static constexpr bool needs_exchange = !has_large_counts && (may_exceed_int<C> || may_exceed_int<D>);

  FERROMPI_INLINE static void refuse_large(const char* operation, const Group& group, std::size_t count) {
    if (!has_large_counts && exceeds_int(count)) [[unlikely]] {
      throw_count_too_large(operation, group, count);
    }
  }
};

/// The root gets every rank's part at its place; elsewhere `recv`, `counts` and `displs` are ignored.
struct Gatherv : VectorOperation {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Gatherv, gatherv);

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.single, static_cast<Count>(args.count), args.type, args.whole, args.layout.counts_as<Count>(),
                    args.layout.displs_as<Count>(), args.type, args.root, args.comm, tail...);
  }

  // In one line (gathered.hpp): the parts of all ranks, one behind the other, on the root.
  template <BufferLike S>
  FERROMPI_INLINE static auto run(const Blocking& form, const Group& group, S&& local, int root) {
    return gather_parts(form, group, std::forward<S>(local), root);
  }

  template <class Form, BufferLike S, BufferLike R, class C, class D>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, R&& recv, const C& counts, const D& displs,
                                  int root) {
    require_same_elements<S, R>();
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    checks.root(root);
    if (FERROMPI_CHECKS && group.rank == root) {
      check_segments(form.operation, group, {integers_of(counts), integers_of(displs)}, to.size(), true);
      check_own_count(form.operation, group, integers_of(counts), from.size());
      checks.apart(from, to);
    }
    return gather(form, group, const_cast<element_t<S>*>(from.data()), from.size(), to, counts, displs, root);
  }

  /// On the root the whole buffer, its own part in place; on the others their part.
  template <class Form, BufferLike B, class C, class D>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer, const C& counts, const D& displs,
                                          int root) {
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    checks.root(root);
    const bool keeps = group.rank == root;
    if (FERROMPI_CHECKS && keeps) {
      check_segments(form.operation, group, {integers_of(counts), integers_of(displs)}, elements.size(), true);
    }
    if constexpr (needs_exchange<C, D>) {
      if (keeps) {
        auto recv = ExchangeSide::each(elements.data(), {integers_of(counts), integers_of(displs)});
        recv.skip_self = true;
        return exchange_elements<element_t<B>>(form, group, ExchangeSide::nothing(), recv);
      }
    }
    return gather(form, group, keeps ? MPI_IN_PLACE : elements.data(), keeps ? 0 : elements.size(), elements, counts,
                  displs, root);
  }

  // Without checks, for those who laid the parts out themselves.
  template <class Form, class T, class C, class D>
  FERROMPI_INLINE static auto gather(Form& form, const Group& group, void* single, std::size_t count,
                                     std::span<T> whole, const C& counts, const D& displs, int root) {
    if constexpr (needs_exchange<C, D>) {
      // A call for each case, in which it is known at compile time what a side is.
      const auto send = ExchangeSide::one(single, count, root);
      if (group.rank != root) return exchange_elements<T>(form, group, send, ExchangeSide::nothing());
      return exchange_elements<T>(form, group, send,
                                  ExchangeSide::each(whole.data(), {integers_of(counts), integers_of(displs)}));
    } else {
      const auto type = datatype_of<T>();
      refuse_large(form.operation, group, count);
      return with_layout(form, group, counts, displs, [&](auto& with, const Layout& layout) {
        return launch<Gatherv>(with, Args{single, count, whole.data(), layout, type, root, group.native});
      });
    }
  }
};

/// Each rank gets its part of the root's `send`; elsewhere `send`, `counts` and `displs` are ignored.
struct Scatterv : VectorOperation {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Scatterv, scatterv);
  static constexpr unsigned buffers = 0b1001;

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.whole, args.layout.counts_as<Count>(), args.layout.displs_as<Count>(), args.type, args.single,
                    static_cast<Count>(args.count), args.type, args.root, args.comm, tail...);
  }

  // In one line (gathered.hpp): this rank's part of the root's `send`.
  template <BufferLike S, class C>
  FERROMPI_INLINE static auto run(const Blocking& form, const Group& group, S&& send, const C& counts, int root) {
    return scatter_parts(form, group, std::forward<S>(send), counts, root);
  }

  template <class Form, BufferLike S, class C, class D, BufferLike R>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, const C& counts, const D& displs, R&& recv,
                                  int root) {
    require_same_elements<S, R>();
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    checks.root(root);
    if (FERROMPI_CHECKS && group.rank == root) {
      check_segments(form.operation, group, {integers_of(counts), integers_of(displs)}, from.size(), false);
      check_own_count(form.operation, group, integers_of(counts), to.size());
      checks.apart(from, to);
    }
    return scatter(form, group, to.data(), to.size(), from, counts, displs, root);
  }

  /// On the root the whole buffer, of which it keeps its part; on the others the place for theirs.
  template <class Form, BufferLike B, class C, class D>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer, const C& counts, const D& displs,
                                          int root) {
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    checks.root(root);
    const std::span<const element_t<B>> whole = elements;
    const bool keeps = group.rank == root;
    if (FERROMPI_CHECKS && keeps) {
      check_segments(form.operation, group, {integers_of(counts), integers_of(displs)}, elements.size(), false);
    }
    if constexpr (needs_exchange<C, D>) {
      if (keeps) {
        auto send = ExchangeSide::each(elements.data(), {integers_of(counts), integers_of(displs)});
        send.skip_self = true;
        return exchange_elements<element_t<B>>(form, group, send, ExchangeSide::nothing());
      }
    }
    return scatter(form, group, keeps ? MPI_IN_PLACE : elements.data(), keeps ? 0 : elements.size(), whole, counts,
                   displs, root);
  }

  // Without checks, as above.
  template <class Form, class T, class C, class D>
  FERROMPI_INLINE static auto scatter(Form& form, const Group& group, void* single, std::size_t count,
                                      std::span<const T> whole, const C& counts, const D& displs, int root) {
    if constexpr (needs_exchange<C, D>) {
      const auto recv = ExchangeSide::one(single, count, root);
      if (group.rank != root) return exchange_elements<T>(form, group, ExchangeSide::nothing(), recv);
      return exchange_elements<T>(form, group,
                                  ExchangeSide::each(whole.data(), {integers_of(counts), integers_of(displs)}), recv);
    } else {
      const auto type = datatype_of<T>();
      refuse_large(form.operation, group, count);
      return with_layout(form, group, counts, displs, [&](auto& with, const Layout& layout) {
        return launch<Scatterv>(with,
                                Args{single, count, const_cast<T*>(whole.data()), layout, type, root, group.native});
      });
    }
  }
};

/// Everyone gets every rank's part at its place. The counts are the same on every rank, the displacements need not be.
struct Allgatherv : VectorOperation {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Allgatherv, allgatherv);

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.single, static_cast<Count>(args.count), args.type, args.whole, args.layout.counts_as<Count>(),
                    args.layout.displs_as<Count>(), args.type, args.comm, tail...);
  }

  // In one line (gathered.hpp): the parts of all ranks, one behind the other, on every rank.
  template <BufferLike S>
  FERROMPI_INLINE static auto run(const Blocking& form, const Group& group, S&& local) {
    return allgather_parts(form, group, std::forward<S>(local));
  }

  template <class Form, BufferLike S, BufferLike R, class C, class D>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, R&& recv, const C& counts,
                                  const D& displs) {
    require_same_elements<S, R>();
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    if (FERROMPI_CHECKS) {
      check_segments(form.operation, group, {integers_of(counts), integers_of(displs)}, to.size(), true);
      check_own_count(form.operation, group, integers_of(counts), from.size());
      checks.apart(from, to);
    }
    return gather(form, group, const_cast<element_t<S>*>(from.data()), from.size(), to, counts, displs);
  }

  /// Each rank has put its part in its place.
  template <class Form, BufferLike B, class C, class D>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer, const C& counts,
                                          const D& displs) {
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    if (FERROMPI_CHECKS) {
      check_segments(form.operation, group, {integers_of(counts), integers_of(displs)}, elements.size(), true);
    }
    return gather(form, group, MPI_IN_PLACE, 0, elements, counts, displs);
  }

  // Without checks, as above: the parts lie one behind the other and fill `whole`.
  template <class T>
  FERROMPI_INLINE static void gather_behind(const Blocking& form, const Group& group, std::span<const T> own,
                                            std::span<T> whole, const std::vector<std::size_t>& counts,
                                            const std::vector<std::size_t>& displs) {
    void* const single = const_cast<T*>(own.data());
    const bool alone = ignores_a_single_displacement && group.size == 1;
    if (alone || exceeds_int(whole.size())) [[unlikely]] {
      const auto cold_form = cold_copy(form);
      return gather_cold(cold_form, group, single, own.size(), whole, counts, displs);
    }
    Args args{single, own.size(), whole.data(), {}, datatype_of<T>(), 0, group.native};
    if constexpr (has_large_counts) {
      args.layout = as_it_is(counts, displs);
    } else {
      const auto size = static_cast<std::size_t>(group.size);
      int* const narrow_counts = arrays_for(size).integers;
      int* const narrow_displs = narrow_counts + size;
      for (std::size_t r = 0; r < size; ++r) {
        narrow_counts[r] = static_cast<int>(counts[r]);
        narrow_displs[r] = static_cast<int>(displs[r]);
      }
      args.layout = {narrow_counts, narrow_displs};
    }
    launch<Allgatherv>(form, args);
  }

 private:
  template <class T>
  [[gnu::cold, gnu::noinline]] static void gather_cold(const Blocking& form, const Group& group, void* single,
                                                       std::size_t count, std::span<T> whole,
                                                       const std::vector<std::size_t>& counts,
                                                       const std::vector<std::size_t>& displs) {
    gather(form, group, single, count, whole, counts, displs);
  }

  template <class Form, class T, class C, class D>
  FERROMPI_INLINE static auto gather(Form& form, const Group& group, void* single, std::size_t count,
                                     std::span<T> whole, const C& counts, const D& displs) {
    if constexpr (ignores_a_single_displacement) {
      if (group.size == 1) [[unlikely]] {
        auto&& cold_form = cold_copy(form);
        return gather_alone(cold_form, group, single, count, whole, counts, displs);
      }
    }
    return gather_at(form, group, single, count, whole, counts, displs);
  }

  template <class Form, class T, class C, class D>
  [[gnu::cold, gnu::noinline]] static auto gather_alone(Form& form, const Group& group, void* single, std::size_t count,
                                                        std::span<T> whole, const C& counts, const D& displs) {
    static constexpr std::array<integer_t<D>, 1> front{};
    const bool moves = at(integers_of(counts), 0) != 0;
    const auto place = moves ? static_cast<std::size_t>(at(integers_of(displs), 0)) : 0;
    return gather_at(form, group, single, count, whole.subspan(place), counts, front);
  }

  template <class Form, class T, class C, class D>
  FERROMPI_INLINE static auto gather_at(Form& form, const Group& group, void* single, std::size_t count,
                                        std::span<T> whole, const C& counts, const D& displs) {
    constexpr bool creeps = creeps_through_large_gathers && (may_exceed_int<C> || may_exceed_int<D>);
    if constexpr (needs_exchange<C, D> || creeps) {
      // Every rank knows all counts, so every rank decides alike.
      if (exceeds_int(total_of(counts))) [[unlikely]] {
        auto&& cold_form = cold_copy(form);
        return gather_large(cold_form, group, single, count, whole, {integers_of(counts), integers_of(displs)},
                            datatype_of<T>());
      }
    }
    refuse_large(form.operation, group, count);
    const Args args{single, count, whole.data(), {}, datatype_of<T>(), 0, group.native};
    if constexpr (has_large_counts || !may_exceed_int<D>) {
      return with_layout(form, group, counts, displs, [&](auto& with, const Layout& layout) {
        return launch<Allgatherv>(with, at_places(args, layout));
      });
    } else {
      if constexpr (is_blocking<Form> && sizeof(integer_t<C>) == 8 && sizeof(integer_t<D>) == 8) {
        const auto size = static_cast<std::size_t>(group.size);
        int* const narrowed = arrays_for(size).integers;
        if (narrow({integers_of(counts), integers_of(displs)}, size, narrowed, narrowed + size)) [[likely]] {
          return launch<Allgatherv>(form, at_places(args, {narrowed, narrowed + size}));
        }
      }
      auto&& cold_form = cold_copy(form);
      return gather_anywhere(cold_form, group, cold_copy(args), whole, counts, displs);
    }
  }

  FERROMPI_INLINE static Args at_places(Args args, const Layout& layout) {
    args.layout = layout;
    return args;
  }

  /// Where an int holds all elements together, but perhaps not the place of each part. That may be so on one rank
  /// alone, so the others must not notice.
  template <class Form, class T, class C, class D>
  [[gnu::noinline]] static auto gather_anywhere(Form& form, const Group& group, const Args& args, std::span<T> whole,
                                                const C& counts, const D& displs) {
    const auto size = static_cast<std::size_t>(group.size);
    const Segments parts{integers_of(counts), integers_of(displs)};
    if constexpr (is_blocking<Form>) {
      int* const narrowed = arrays_for(size).integers;
      if (place_parts(parts, size, narrowed, narrowed + size)) [[likely]] {
        launch<Allgatherv>(form, at_places(args, {narrowed, narrowed + size}));
      } else {
        Hold hold;
        launch<Allgatherv>(form, gather_aside(args, group, whole, parts, hold));
        hold.completed();
      }
    } else {
      auto& hold = ensure(form.hold);
      hold.narrow.resize(2 * size);
      int* const narrowed = hold.narrow.data();
      const bool fits = place_parts(parts, size, narrowed, narrowed + size);
      return launch<Allgatherv>(
          form, fits ? at_places(args, {narrowed, narrowed + size}) : gather_aside(args, group, whole, parts, hold));
    }
  }

  template <class Form, class T>
  [[gnu::cold, gnu::noinline]] static auto gather_large(Form& form, const Group& group, void* single, std::size_t count,
                                                        std::span<T> whole, const Segments& parts, MPI_Datatype type) {
    auto recv = ExchangeSide::each(whole.data(), parts);
    auto send = ExchangeSide::all(single, count);
    if (single == MPI_IN_PLACE) {
      const auto self = static_cast<std::size_t>(group.rank);
      send = ExchangeSide::all(whole.data() + at(parts.displs, self), static_cast<std::size_t>(at(parts.counts, self)));
      send.skip_self = recv.skip_self = true;
    }
    return exchange(form, group, send, recv, type);
  }
};

/// Part j of rank i's `send` goes to part i of rank j's `recv`.
struct Alltoallv : CollectiveTraits {
  struct Args {
    const void* send;
    Layout from;
    void* recv;
    Layout to;
    MPI_Datatype type;
    MPI_Comm comm;
  };
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Alltoallv, alltoallv);
  static constexpr unsigned buffers = 0b1001;

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.send, args.from.counts_as<Count>(), args.from.displs_as<Count>(), args.type, args.recv,
                    args.to.counts_as<Count>(), args.to.displs_as<Count>(), args.type, args.comm, tail...);
  }
  static bool counts_are_large(const Args& args) { return args.to.wide(); }
  static constexpr bool must_shrink(const Args&) { return false; }
  static void shrink(Args&, Hold&) {}

  // In one line (gathered.hpp): what every rank sent to this one, in rank order.
  template <BufferLike S, class C>
  FERROMPI_INLINE static auto run(const Blocking& form, const Group& group, S&& send, const C& counts) {
    return exchange_parts(form, group, std::forward<S>(send), counts);
  }

  template <class Form, BufferLike S, class C, class D, BufferLike R, class E, class F>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, const C& sendcounts, const D& sdispls,
                                  R&& recv, const E& recvcounts, const F& rdispls) {
    require_same_elements<S, R>();
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    if (FERROMPI_CHECKS) {
      check_segments(form.operation, group, {integers_of(sendcounts), integers_of(sdispls)}, from.size(), false);
      check_segments(form.operation, group, {integers_of(recvcounts), integers_of(rdispls)}, to.size(), true);
      checks.apart(from, to);
    }
    return move(form, group, std::span<const element_t<S>>(from), sendcounts, sdispls, std::span<element_t<S>>(to),
                recvcounts, rdispls);
  }

  // Without checks, as above.
  template <class Form, class T, class C, class D, class E, class F>
  FERROMPI_INLINE static auto move(Form& form, const Group& group, std::span<const T> from, const C& sendcounts,
                                   const D& sdispls, std::span<T> to, const E& recvcounts, const F& rdispls) {
    if constexpr (VectorOperation::needs_exchange<C, D> || VectorOperation::needs_exchange<E, F>) {
      return exchange_elements<T>(form, group,
                                  ExchangeSide::each(from.data(), {integers_of(sendcounts), integers_of(sdispls)}),
                                  ExchangeSide::each(to.data(), {integers_of(recvcounts), integers_of(rdispls)}));
    } else {
      const auto type = datatype_of<T>();
      return with_layouts(
          form, group, sendcounts, sdispls, recvcounts, rdispls,
          [&](const Layout& send_layout, const Layout& recv_layout) {
            const void* const send = apart<Form>(from.data(), to.data());
            return launch<Alltoallv>(form, Args{send, send_layout, to.data(), recv_layout, type, group.native});
          });
    }
  }

  /// What a rank sends to another is replaced by what it receives from there.
  template <class Form, BufferLike B, class C, class D>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer, const C& counts,
                                          const D& displs) {
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    if (FERROMPI_CHECKS) {
      check_segments(form.operation, group, {integers_of(counts), integers_of(displs)}, elements.size(), true);
    }
    const auto type = datatype_of<element_t<B>>();
    if constexpr (VectorOperation::needs_exchange<C, D>) {
      auto send = ExchangeSide::nothing();
      send.buffer = MPI_IN_PLACE;
      return exchange_elements<element_t<B>>(
          form, group, send, ExchangeSide::each(elements.data(), {integers_of(counts), integers_of(displs)}));
    } else if constexpr (fails_beyond_int && !is_blocking<Form> && may_exceed_int<C>) {
      // No rank knows the counts of all others, so the type decides.
      return exchange_copied(form, group, elements.data(), {integers_of(counts), integers_of(displs)}, type);
    } else {
      const void* send = MPI_IN_PLACE;
      if constexpr (miscounts_without_parts && !is_blocking<Form>) {
        if (total_of(counts) == 0) send = &nowhere;
      }
      return with_layout(form, group, counts, displs, [&](auto& with, const Layout& layout) {
        return launch<Alltoallv>(with, Args{send, layout, elements.data(), layout, type, group.native});
      });
    }
  }

 private:
  /// Of two empty buffers, which may have one address, the first has another.
  template <class Form>
  FERROMPI_INLINE static const void* apart(const void* send, [[maybe_unused]] const void* recv) {
    if constexpr (miscounts_without_parts && !is_blocking<Form>) {
      return send == recv ? &nowhere : send;
    } else {
      return send;
    }
  }
};

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
