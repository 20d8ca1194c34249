// gather, allgather, scatter, alltoall: blocks of equal length, one a rank.
#pragma once

#include <ferrompi/detail/buffers.hpp>
#include <ferrompi/detail/checks.hpp>
#include <ferrompi/detail/engine.hpp>
#include <ferrompi/detail/exchange.hpp>

#include <vector>

namespace ferrompi::detail {
inline namespace FERROMPI_VARIANT {

struct BlockArgs {
  const void* send;
  void* recv;
  std::size_t count;  // elements in one block
  MPI_Datatype type;
  int root;
  MPI_Comm comm;
  int size;  // of the communicator
};

struct BlockOperation : CollectiveTraits {
  using Args = BlockArgs;
  static constexpr unsigned buffers = 0b11;
  static constexpr bool persistent_is_right = !restarts_wrongly;

  static constexpr bool counts_are_large(const Args& args) { return blocks_exceed_int(args.count, args.size); }
  static constexpr bool must_shrink(const Args& args) { return !has_large_counts && counts_are_large(args); }
  static void shrink(Args& args, Hold& hold) {
    args.type = hold.types.emplace_back(make_contiguous_type(args.type, args.count));
    args.count = 1;
  }

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    const auto count = static_cast<Count>(args.count);
    return function(args.send, count, args.type, args.recv, count, args.type, args.comm, tail...);
  }

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke_rooted(F function, const Args& args, Tail... tail) {
    const auto count = static_cast<Count>(args.count);
    return function(args.send, count, args.type, args.recv, count, args.type, args.root, args.comm, tail...);
  }

  /// Up to 65536 ranks, blocks of so many bytes are together no more than an int counts.
  static constexpr std::size_t short_block = INT_MAX / 65536;

  /// Gathers or scatters elements of `T`, as messages where the library fails.
  template <class Op, class T, class Form>
  FERROMPI_INLINE static auto launch_rooted(Form& form, const Args& args) {
    if constexpr (fails_beyond_int) {
      // An int counts a short block: this comparison takes the place of the one that chooses the function.
      if (args.count > short_block / sizeof(T)) [[unlikely]] {
        auto&& cold_form = cold_copy(form);
        auto cold_args = args;
        cold_args.size = 0;  // or every call would keep the address from which to read it
        return launch_long<Op>(cold_form, cold_copy(cold_args), sizeof(T));
      }
    }
    return launch<Op>(form, args);
  }

  /// Count and size are the same on every rank, so every rank decides alike.
  template <class Op, class Form>
  [[gnu::cold, gnu::noinline]] static auto launch_long(Form& form, Args args, std::size_t element_size) {
    Group group{args.comm};
    check(MPI_Comm_rank(args.comm, &group.rank), form.operation);
    check(MPI_Comm_size(args.comm, &group.size), form.operation);
    args.size = group.size;
    const auto ranks = static_cast<std::size_t>(args.size);
    if (!exceeds_int(args.count * element_size * ranks)) return launch<Op>(form, args);
    return with_blocks(ranks, args.count,
                       [&](const Segments& blocks) { return Op::as_messages(form, group, args, blocks); });
  }

  /// Calls `body` with the places of the blocks.
  template <class Body>
  static auto with_blocks(std::size_t ranks, std::size_t count, Body body) {
    const std::vector<std::size_t> counts(ranks, count);
    std::vector<std::size_t> displs(ranks);
    for (std::size_t r = 0; r < ranks; ++r) displs[r] = r * count;
    return body(Segments{integers_of(counts), integers_of(displs)});
  }
};

/// The root gets the blocks of all ranks, in rank order; elsewhere `recv` is ignored and may be empty.
struct Gather : BlockOperation {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Gather, gather);

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return invoke_rooted<Count>(function, args, tail...);
  }

  template <class Form, BufferLike S, BufferLike R>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, R&& recv, int root) {
    require_same_elements<S, R>();
    const MPI_Comm comm = group.native;  // read first: see `launch`
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    checks.root(root);
    if (group.rank == root) {
      checks.blocks(to.size(), from.size());
      checks.apart(from, to);
    }
    return launch_rooted<Gather, element_t<S>>(
        form, Args{from.data(), to.data(), from.size(), datatype_of<element_t<S>>(), root, comm, group.size});
  }

  /// On the root the buffer of all blocks, its own in place; on the others their block.
  template <class Form, BufferLike B>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer, int root) {
    const MPI_Comm comm = group.native;
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    checks.root(root);
    const auto type = datatype_of<element_t<B>>();
    if (group.rank != root) {
      return launch_rooted<Gather, element_t<B>>(
          form, Args{elements.data(), elements.data(), elements.size(), type, root, comm, group.size});
    }
    checks.divisible(elements.size());
    const auto count = elements.size() / static_cast<std::size_t>(group.size);
    return launch_rooted<Gather, element_t<B>>(
        form, Args{MPI_IN_PLACE, elements.data(), count, type, root, comm, group.size});
  }

  /// The root gets the values of all ranks, the others an empty vector.
  template <Value T>
  FERROMPI_INLINE static std::vector<T> run(const Blocking& form, const Group& group, const T& value, int root) {
    std::vector<T> values(group.rank == root ? static_cast<std::size_t>(group.size) : 0);
    run(form, group, std::span<const T, 1>(&value, 1), values, root);
    return values;
  }

  /// For igather(value, root): the root's own value in its place, the others' to send and then to forget.
  template <class T>
  static void prepare(Hold& hold, const Group& group, std::vector<T>& values, const T& value, int root) {
    if (group.rank == root) {
      values.resize(static_cast<std::size_t>(group.size));
      values[static_cast<std::size_t>(root)] = value;
    } else {
      values.assign(1, value);
      hold.finish = [&values] { values.clear(); };
    }
  }

  /// From each of the others to the root.
  template <class Form>
  static auto as_messages(Form& form, const Group& group, const Args& args, const Segments& blocks) {
    const bool in_place = args.send == MPI_IN_PLACE;
    auto send = ExchangeSide::nothing();
    auto recv = ExchangeSide::nothing();
    if (!in_place) send = ExchangeSide::one(args.send, args.count, args.root);
    if (group.rank == args.root) recv = ExchangeSide::each(args.recv, blocks);
    recv.skip_self = in_place;
    return exchange(form, group, send, recv, args.type);
  }
};

/// Everyone gets the blocks of all ranks, in rank order.
struct Allgather : BlockOperation {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Allgather, allgather);

  template <class Form, BufferLike S, BufferLike R>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, R&& recv) {
    require_same_elements<S, R>();
    const MPI_Comm comm = group.native;  // read first: see `launch`
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    checks.blocks(to.size(), from.size());
    checks.apart(from, to);
    return launch<Allgather>(
        form, Args{from.data(), to.data(), from.size(), datatype_of<element_t<S>>(), 0, comm, group.size});
  }

  /// Each rank has put its block in its place.
  template <class Form, BufferLike B>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer) {
    const MPI_Comm comm = group.native;
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    checks.divisible(elements.size());
    const auto count = elements.size() / static_cast<std::size_t>(group.size);
    return launch<Allgather>(
        form, Args{MPI_IN_PLACE, elements.data(), count, datatype_of<element_t<B>>(), 0, comm, group.size});
  }

  template <Value T>
  FERROMPI_INLINE static std::vector<T> run(const Blocking& form, const Group& group, const T& value) {
    std::vector<T> values(static_cast<std::size_t>(group.size));
    run(form, group, std::span<const T, 1>(&value, 1), values);
    return values;
  }

  /// For iallgather(value).
  template <class T>
  static void prepare(Hold&, const Group& group, std::vector<T>& values, const T& value) {
    values.resize(static_cast<std::size_t>(group.size));
    values[static_cast<std::size_t>(group.rank)] = value;
  }
};

/// Each rank gets its block of the root's `send`; elsewhere `send` is ignored and may be empty.
struct Scatter : BlockOperation {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Scatter, scatter);
  static constexpr std::size_t shared_out_arity = 2;  // send, root

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return invoke_rooted<Count>(function, args, tail...);
  }

  template <class Form, BufferLike S, BufferLike R>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, R&& recv, int root) {
    require_same_elements<S, R>();
    const MPI_Comm comm = group.native;  // read first: see `launch`
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    checks.root(root);
    if (group.rank == root) {
      checks.blocks(from.size(), to.size());
      checks.apart(from, to);
    }
    return launch_rooted<Scatter, element_t<S>>(
        form, Args{from.data(), to.data(), to.size(), datatype_of<element_t<S>>(), root, comm, group.size});
  }

  /// One value for every rank.
  template <BufferLike S>
  FERROMPI_INLINE static element_t<S> run(const Blocking& form, const Group& group, S&& send, int root) {
    element_t<S> value{};
    run(form, group, std::forward<S>(send), std::span<element_t<S>, 1>(&value, 1), root);
    return value;
  }

  /// On the root the buffer of all blocks, which it keeps; on the others the place for theirs.
  template <class Form, BufferLike B>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer, int root) {
    const MPI_Comm comm = group.native;
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    checks.root(root);
    const auto type = datatype_of<element_t<B>>();
    if (group.rank != root) {
      return launch_rooted<Scatter, element_t<B>>(
          form, Args{elements.data(), elements.data(), elements.size(), type, root, comm, group.size});
    }
    checks.divisible(elements.size());
    const auto count = elements.size() / static_cast<std::size_t>(group.size);
    return launch_rooted<Scatter, element_t<B>>(
        form, Args{elements.data(), MPI_IN_PLACE, count, type, root, comm, group.size});
  }

  /// From the root to each of the others.
  template <class Form>
  static auto as_messages(Form& form, const Group& group, const Args& args, const Segments& blocks) {
    const bool in_place = args.recv == MPI_IN_PLACE;
    auto send = ExchangeSide::nothing();
    auto recv = ExchangeSide::nothing();
    if (group.rank == args.root) send = ExchangeSide::each(args.send, blocks);
    if (!in_place) recv = ExchangeSide::one(args.recv, args.count, args.root);
    send.skip_self = in_place;
    return exchange(form, group, send, recv, args.type);
  }
};

/// Block j of rank i goes to block i of rank j.
struct Alltoall : BlockOperation {
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Alltoall, alltoall);
  static constexpr bool persistent_is_right = true;
  static constexpr std::size_t shared_out_arity = 1;  // send

  template <class Form, BufferLike S, BufferLike R>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, R&& recv) {
    static_assert(lengths_may_agree<S, R>, "send and recv must have the same length");
    require_same_elements<S, R>();
    const MPI_Comm comm = group.native;  // read first: see `launch`
    const auto from = input(send);
    const Checks checks(form.operation, group);
    const auto count = from.size() / static_cast<std::size_t>(group.size);
    const auto to = output(std::forward<R>(recv));  // after the division, which needs its register
    checks.equal(from.size(), to.size());
    checks.divisible(from.size());
    checks.apart(from, to);
    return launch<Alltoall>(form,
                            Args{from.data(), to.data(), count, datatype_of<element_t<S>>(), 0, comm, group.size});
  }

  /// As much from every rank as goes to it.
  template <BufferLike S>
  FERROMPI_INLINE static auto run(const Blocking& form, const Group& group, S&& send) {
    auto received = room_for_share(send);
    run(form, group, std::forward<S>(send), received);
    return received;
  }
  template <class S>
  FERROMPI_INLINE static std::vector<element_t<S>> room_for_share(const S& send) {
    return std::vector<element_t<S>>(input(send).size());
  }

  template <class Form, BufferLike B>
  FERROMPI_INLINE static auto run_inplace(Form&& form, const Group& group, B&& buffer) {
    const MPI_Comm comm = group.native;
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    checks.divisible(elements.size());
    const auto count = elements.size() / static_cast<std::size_t>(group.size);
    if constexpr (fails_beyond_int && !is_blocking<Form>) {
      // The count is the same on every rank, so every rank decides alike.
      if (exceeds_int(count * sizeof(element_t<B>))) [[unlikely]] {
        return with_blocks(static_cast<std::size_t>(group.size), count, [&](const Segments& blocks) {
          return exchange_copied(form, group, elements.data(), blocks, datatype_of<element_t<B>>());
        });
      }
    }
    return launch<Alltoall>(
        form, Args{MPI_IN_PLACE, elements.data(), count, datatype_of<element_t<B>>(), 0, comm, group.size});
  }
};

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
