// broadcast(buffer, root): everyone gets what the root has.
#pragma once

#include <ferrompi/detail/buffers.hpp>
#include <ferrompi/detail/checks.hpp>
#include <ferrompi/detail/engine.hpp>
#include <ferrompi/detail/exchange.hpp>

namespace ferrompi::detail {
inline namespace FERROMPI_VARIANT {

struct Broadcast : CollectiveTraits {
  struct Args {
    void* buffer;
    std::size_t count;
    MPI_Datatype type;
    int root;
    MPI_Comm comm;
  };
  FERROMPI_COLLECTIVE_ENTRY_POINTS(Bcast, bcast);
  static constexpr bool persistent_is_right = !restarts_wrongly;
  static constexpr unsigned buffers = 0b1;
  static constexpr std::size_t one_buffer_arity = 2;

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.buffer, static_cast<Count>(args.count), args.type, args.root, args.comm, tail...);
  }
  static constexpr bool counts_are_large(const Args& args) { return exceeds_int(args.count); }
  static constexpr bool must_shrink(const Args& args) { return !has_large_counts && counts_are_large(args); }
  static void shrink(Args& args, Hold& hold) {
    args.type = hold.types.emplace_back(make_contiguous_type(args.type, args.count));
    args.count = 1;
  }

  template <class Form, BufferLike B>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, B&& buffer, int root) {
    const MPI_Comm comm = group.native;  // read first: see `launch`
    const auto elements = output(std::forward<B>(buffer));
    const Checks checks(form.operation, group);
    checks.root(root);
    const auto type = datatype_of<element_t<B>>();
    if constexpr (fails_beyond_int && !is_blocking<Form>) {
      // The length is the same on every rank, so every rank decides alike.
      if (exceeds_int(elements.size_bytes())) [[unlikely]]
        return hand_out(form, group, elements, root, type);
    }
    return launch<Broadcast>(form, Args{elements.data(), elements.size(), type, root, comm});
  }

  /// Gives every rank the root's value.
  template <Value T>
  FERROMPI_INLINE static T run(const Blocking& form, const Group& group, const T& value, int root) {
    T copy = value;
    run(form, group, std::span<T, 1>(&copy, 1), root);
    return copy;
  }

 private:
  /// As messages from the root to each of the others.
  template <class Form, class T>
  [[gnu::cold, gnu::noinline]] static auto hand_out(Form& form, const Group& group, std::span<T> elements, int root,
                                                    MPI_Datatype type) {
    auto send = ExchangeSide::nothing();
    auto recv = ExchangeSide::nothing();
    if (group.rank == root) {
      send = ExchangeSide::all(elements.data(), elements.size());
      send.skip_self = true;
    } else {
      recv = ExchangeSide::one(elements.data(), elements.size(), root);
    }
    return exchange(form, group, send, recv, type);
  }
};

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
