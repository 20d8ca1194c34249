// broadcast(buffer, root): everyone gets what the root has.
#pragma once

#include <ferrompi/detail/buffers.hpp>
#include <ferrompi/detail/checks.hpp>
#include <ferrompi/detail/engine.hpp>

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
    return launch<Broadcast>(form, Args{elements.data(), elements.size(), datatype_of<element_t<B>>(), root, comm});
  }

  /// Gives every rank the root's value.
  template <Value T>
  FERROMPI_INLINE static T run(const Blocking& form, const Group& group, const T& value, int root) {
    T copy = value;
    run(form, group, std::span<T, 1>(&copy, 1), root);
    return copy;
  }
};

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
