// Moving parts of any length between any ranks, for libraries whose counts are int: MPI_Alltoallw with a datatype for
// each part that an int cannot count or place.
#pragma once

#include <ferrompi/datatype.hpp>
#include <ferrompi/detail/engine.hpp>
#include <ferrompi/detail/group.hpp>
#include <ferrompi/detail/layout.hpp>
#include <ferrompi/detail/mpi.hpp>

namespace ferrompi::detail {

/// What one rank sends, or receives.
struct ExchangeSide {
  enum class Kind { Nothing, One, All, Parts };
  /// No parts are none of any type: here of the one that most are of.
  static constexpr Segments none{{nullptr, 0, sizeof(std::size_t), false}, {nullptr, 0, sizeof(std::size_t), false}};

  void* buffer = nullptr;
  Kind kind = Kind::Nothing;
  int peer = 0;           // One
  std::size_t count = 0;  // One, All: the whole buffer
  Segments parts = none;  // Parts
  bool skip_self = false;

  static ExchangeSide nothing() { return {}; }
  static ExchangeSide one(const void* buffer, std::size_t count, int peer) {
    return {const_cast<void*>(buffer), Kind::One, peer, count};
  }
  static ExchangeSide all(const void* buffer, std::size_t count) {
    return {const_cast<void*>(buffer), Kind::All, 0, count};
  }
  static ExchangeSide each(const void* buffer, const Segments& parts) {
    return {const_cast<void*>(buffer), Kind::Parts, 0, 0, parts};
  }
};

struct ExchangeArgs {
  struct Side {
    void* buffer = nullptr;
    const int* counts = nullptr;
    const int* displs = nullptr;  // in bytes
    const MPI_Datatype* types = nullptr;
  };
  Side send;
  Side recv;
  MPI_Datatype type;
  MPI_Comm comm;
};

/// The same, and what to copy before the call: bytes of the buffer that is received into, to the one that is sent.
struct CopiedExchangeArgs : ExchangeArgs {
  const MPI_Count* parts = nullptr;  // offset and length, in turn
  std::size_t count = 0;             // of parts

  void copy() const;
};

/// The arguments of MPI_Alltoallw, in `storage`.
[[nodiscard]] ExchangeArgs plan_exchange(const char* operation, const Group& group, const ExchangeSide& send,
                                         const ExchangeSide& recv, MPI_Datatype type, LayoutStorage storage);
/// Those of an exchange in place that is none for the library: it sends from a copy, which is in `hold`.
[[nodiscard]] CopiedExchangeArgs plan_copied_exchange(const char* operation, const Group& group, void* buffer,
                                                      const Segments& parts, MPI_Datatype type, Hold& hold);

/// What a rank says to send that sends nothing: an address that no buffer of its has.
inline constexpr char nowhere = 0;

inline namespace FERROMPI_VARIANT {

struct Exchange : CollectiveTraits {
  using Args = ExchangeArgs;
  static constexpr auto blocking = &MPI_Alltoallw;
  static constexpr auto nonblocking = &MPI_Ialltoallw;
  FERROMPI_PERSISTENT_COLLECTIVE(Alltoallw);
  static constexpr Absent blocking_large{}, nonblocking_large{}, persistent_large{};

  template <class Count, class F, class... Tail>
  static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.send.buffer, args.send.counts, args.send.displs, args.send.types, args.recv.buffer,
                    args.recv.counts, args.recv.displs, args.recv.types, args.comm, tail...);
  }
  static constexpr bool counts_are_large(const Args&) { return false; }
};

struct CopiedExchange : Exchange {
  using Args = CopiedExchangeArgs;
  static constexpr bool persistent_is_right = false;  // every start needs a new copy

  template <class Count, class F, class... Tail>
  static int invoke(F function, const Args& args, Tail... tail) {
    args.copy();
    return Exchange::invoke<Count>(function, args, tail...);
  }
};

/// One side where an int holds all that MPI asks for. Returns all bits of the numbers: an int holds them all if it
/// holds that.
FERROMPI_INLINE std::size_t fill_side(const ExchangeSide& side, const Group& group, std::size_t extent,
                                      MPI_Datatype type, int* counts, MPI_Datatype* types) {
  const auto size = static_cast<std::size_t>(group.size);
  int* const displs = counts + size;
  std::size_t bits = 0;
  if (side.kind == ExchangeSide::Kind::Parts) {
    for (std::size_t r = 0; r < size; ++r) {
      const auto count = wide_at(side.parts.counts, r);
      const auto offset = wide_at(side.parts.displs, r) * extent;
      counts[r] = static_cast<int>(count);
      displs[r] = static_cast<int>(offset);
      types[r] = type;
      bits |= count | offset;
    }
    if (side.skip_self) counts[group.rank] = 0;
  } else {
    for (std::size_t r = 0; r < size; ++r) {
      counts[r] = displs[r] = 0;
      types[r] = type;
    }
    if (side.kind == ExchangeSide::Kind::One) {
      counts[side.peer] = static_cast<int>(side.count);
      bits = side.count;
    }
  }
  return bits;
}

template <class Form>
[[gnu::noinline]] auto exchange(Form& form, const Group& group, const ExchangeSide& send, const ExchangeSide& recv,
                                MPI_Datatype type) {
  if constexpr (is_blocking<Form>) {
    ThreadStorage storage;
    form.template issue<Exchange>(plan_exchange(form.operation, group, send, recv, type, storage));
  } else {
    const auto storage = storage_of(ensure(form.hold));
    return form.template issue<Exchange>(plan_exchange(form.operation, group, send, recv, type, storage));
  }
}

/// Parts of 64-bit counts, or one, with elements of `T`: usually an int holds them all.
template <class T, class Form>
FERROMPI_INLINE auto exchange_elements(Form& form, const Group& group, const ExchangeSide& send,
                                       const ExchangeSide& recv) {
  const auto type = datatype_of<T>();
  if constexpr (is_blocking<Form>) {
    const auto size = static_cast<std::size_t>(group.size);
    // A rank that is alone is a case of its own: see `plan_exchange`.
    if (size > 1 && are_wide(send.parts) && are_wide(recv.parts)) [[likely]] {
      const auto& arrays = arrays_for(size);
      int* const from = arrays.integers;
      int* const to = from + 2 * size;
      MPI_Datatype* const types = arrays.types;
      const auto sent = fill_side(send, group, sizeof(T), type, from, types);
      const auto received = fill_side(recv, group, sizeof(T), type, to, types + size);
      if (!exceeds_int(sent | received)) [[likely]] {
        return form.template issue<Exchange>(
            {{send.buffer, from, from + size, types}, {recv.buffer, to, to + size, types + size}, type, group.native});
      }
    }
    auto&& cold_form = cold_copy(form);
    const auto cold_send = cold_copy(send);
    const auto cold_recv = cold_copy(recv);
    return exchange(cold_form, group, cold_send, cold_recv, type);
  } else {
    return exchange(form, group, send, recv, type);
  }
}

/// In place, for a library that cannot do that with parts of any length unless the call is blocking.
template <class Form>
[[gnu::cold, gnu::noinline]] auto exchange_copied(Form& form, const Group& group, void* buffer, const Segments& parts,
                                                  MPI_Datatype type) {
  auto& hold = ensure(form.hold);
  return form.template issue<CopiedExchange>(plan_copied_exchange(form.operation, group, buffer, parts, type, hold));
}

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
