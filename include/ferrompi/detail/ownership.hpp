// Nonblocking operations that own their buffers: what is moved in is kept, and handed back by `Pending::get()`.
#pragma once

#include <ferrompi/detail/buffers.hpp>
#include <ferrompi/detail/checks.hpp>
#include <ferrompi/detail/engine.hpp>

#include <bit>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace ferrompi {

class Info;

namespace detail {

/// Which of the arguments are buffers given away, as a bit mask.
template <unsigned Buffers, class... A>
consteval unsigned owned_mask() {
  unsigned mask = 0;
  unsigned bit = 1;
  ((mask |= GivenAway<A> ? bit & Buffers : 0, bit <<= 1), ...);
  return mask;
}

/// What a Pending hands back: the one container that was moved in, or both as a pair.
template <unsigned Mask, class... A>
consteval auto held_type() {
  constexpr auto first = static_cast<std::size_t>(std::countr_zero(Mask));
  using Arguments = std::tuple<A...>;
  using First = std::remove_cvref_t<std::tuple_element_t<first, Arguments>>;
  if constexpr (std::has_single_bit(Mask)) {
    return std::type_identity<First>();
  } else {
    constexpr auto second = static_cast<std::size_t>(std::countr_zero(Mask & (Mask - 1)));
    return std::type_identity<std::pair<First, std::remove_cvref_t<std::tuple_element_t<second, Arguments>>>>();
  }
}

inline namespace FERROMPI_VARIANT {

/// Makes what the operation holds on to, and lets the form own it.
template <class H, class... Part>
H& hold_in(Nonblocking& form, Part&&... parts) {
  auto& hold = ensure(form.hold);
  auto owner = std::make_unique<H>(std::forward<Part>(parts)...);
  auto& held = *owner;
  hold.buffers = std::move(owner);
  return held;
}

/// Who gets an error still has the container that the operation did not take.
template <class B, class Source>
void give_back([[maybe_unused]] Source& source, [[maybe_unused]] B& held) {
  if constexpr (std::is_assignable_v<Source&, B>) source = std::move(held);
}

/// Moves the owned buffers to the heap, then calls `run` with references to them in their places. Where that throws,
/// the operation has not begun, and they go back to where they came from.
template <unsigned Mask, class Run, class... A>
auto with_held_buffers(Nonblocking form, Run run, A&&... args) {
  using R = typename decltype(held_type<Mask, A...>())::type;
  std::tuple<A&&...> given(std::forward<A>(args)...);
  constexpr auto first = static_cast<std::size_t>(std::countr_zero(Mask));
  constexpr auto second = static_cast<std::size_t>(std::countr_zero(Mask & (Mask - 1)));
  auto& held = [&]() -> Held<R>& {
    if constexpr (std::has_single_bit(Mask)) {
      return hold_in<Held<R>>(form, std::in_place, std::move(std::get<first>(given)));
    } else {
      return hold_in<Held<R>>(form, std::in_place, std::move(std::get<first>(given)),
                              std::move(std::get<second>(given)));
    }
  }();
  const auto argument = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) -> decltype(auto) {
    // Split by the mask first: what does not depend on I is looked at even where I rules it out.
    if constexpr (std::has_single_bit(Mask)) {
      if constexpr (I == first) return (held.value);
    } else {
      if constexpr (I == first) return (held.value.first);
      if constexpr (I == second) return (held.value.second);
    }
    if constexpr (I != first && (std::has_single_bit(Mask) || I != second)) {
      return std::forward<std::tuple_element_t<I, std::tuple<A&&...>>>(std::get<I>(given));
    }
  };
  const auto begin = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return run(std::move(form), argument(std::integral_constant<std::size_t, I>())...);
  };
  try {
    return Pending<R>(begin(std::index_sequence_for<A...>()), held);
  } catch (...) {
    if constexpr (std::has_single_bit(Mask)) {
      give_back(std::get<first>(given), held.value);
    } else {
      give_back(std::get<first>(given), held.value.first);
      give_back(std::get<second>(given), held.value.second);
    }
    throw;
  }
}

/// Runs the blocking form on one buffer, or on a variable.
template <class Op, class B, class... A>
FERROMPI_INLINE void run_inplace(Blocking form, const Group& group, B&& buffer, A&&... args) {
  Op::run_inplace(form, group, as_buffer(std::forward<B>(buffer)), std::forward<A>(args)...);
}

/// Runs `Op` on arguments of which some buffers may be given away.
template <class Op, bool InPlace, class... A>
auto start(Nonblocking form, const Group& group, A&&... args) {
  constexpr unsigned buffers = InPlace ? 0b1 : Op::buffers;
  constexpr unsigned mask = owned_mask<buffers, A...>();
  // NOLINTNEXTLINE(cppcoreguidelines-rvalue-reference-param-not-moved): the operation empties it
  const auto run = [&group](Nonblocking&& with, auto&&... rest) {
    if constexpr (InPlace) {
      return Op::run_inplace(with, group, std::forward<decltype(rest)>(rest)...);
    } else {
      return Op::run(with, group, std::forward<decltype(rest)>(rest)...);
    }
  };
  if constexpr (mask == 0) {
    return run(std::move(form), std::forward<A>(args)...);
  } else {
    return with_held_buffers<mask>(std::move(form), run, std::forward<A>(args)...);
  }
}

/// One value, or one container given away, instead of two buffers: the result takes its place.
template <class Op, bool InPlace, class V, class... A>
auto start_on_one(Nonblocking form, const Group& group, V&& value, A&&... args) {
  if constexpr (Value<V>) {
    using T = std::remove_cvref_t<V>;
    auto& held = hold_in<Held<T>>(form, std::in_place, std::forward<V>(value));
    const std::span<T, 1> one(&held.value, 1);
    Op::adjust(form, group, held.value);
    Request request = start<Op, InPlace>(std::move(form), group, one, std::forward<A>(args)...);
    return Pending<T>(std::move(request), held);
  } else {
    static_assert(GivenAway<V>,
                  "give a buffer for the result, move the container in, or use the _inplace form: this operation "
                  "cannot put its result into a buffer that it only borrows for reading");
    return start<Op, InPlace>(std::move(form), group, std::forward<V>(value), std::forward<A>(args)...);
  }
}

/// An operation that gathers single values: `Op::prepare` makes the vector that they are gathered into, in place.
template <class Op, class T, class... A>
concept GathersValues = requires(Hold& hold, const Group& group, std::vector<T>& values, const T& value, A... args) {
  Op::prepare(hold, group, values, value, args...);
};

/// An operation that gives each rank its share of a buffer that holds one for every rank: the number of arguments of
/// the form that returns the share.
template <class Op, std::size_t Arguments>
concept SharesOutValues = requires {
  requires Op::shared_out_arity == Arguments;
};

/// Where the share goes: one value, unless the operation says how many there are.
template <class Op, class S>
auto room_for_share(const S& send) {
  if constexpr (requires { Op::room_for_share(send); }) {
    return Op::room_for_share(send);
  } else {
    return element_t<S>{};
  }
}

/// This rank's share, beside the buffer that it is a share of: kept if it is a temporary or was moved in, else
/// borrowed.
template <class R, class S>
struct HeldShare final : HeldBuffers {
  // NOLINTNEXTLINE(cppcoreguidelines-rvalue-reference-param-not-moved): forwarded, as it may be borrowed
  HeldShare(S&& send, R&& room) : source(std::forward<S>(send)), share(std::in_place, std::move(room)) {}
  [[nodiscard]] const void* handed_back() const noexcept override { return &share; }
  S source;
  Held<R> share;
};

template <class Op, class S, class... A>
auto start_sharing_out(Nonblocking form, const Group& group, S&& send, A&&... args) {
  auto room = room_for_share<Op>(send);
  using R = decltype(room);
  auto& held = hold_in<HeldShare<R, S>>(form, std::forward<S>(send), std::move(room));
  const auto share = [&] {
    if constexpr (Value<R>) {
      return std::span<R, 1>(&held.share.value, 1);
    } else {
      return std::span(held.share.value);
    }
  };
  try {
    return Pending<R>(Op::run(form, group, held.source, share(), std::forward<A>(args)...), held.share);
  } catch (...) {
    if constexpr (GivenAway<S>) give_back(send, held.source);
    throw;
  }
}

/// Runs the nonblocking form, whichever of the above the arguments ask for.
template <class Op, class First, class... A>
auto start_any(Nonblocking form, const Group& group, First&& first, A&&... args) {
  constexpr bool two_buffers = std::popcount(Op::buffers) == 2;
  if constexpr (Value<First> && GathersValues<Op, std::remove_cvref_t<First>, A...>) {
    using R = std::vector<std::remove_cvref_t<First>>;
    const Checks checks(form.operation, group);  // `prepare` asks for this rank's place among the others
    auto& held = hold_in<Held<R>>(form, std::in_place);
    Op::prepare(*form.hold, group, held.value, first, args...);
    Request request = start<Op, true>(std::move(form), group, held.value, std::forward<A>(args)...);
    return Pending<R>(std::move(request), held);
  } else if constexpr (SharesOutValues<Op, 1 + sizeof...(A)>) {
    return start_sharing_out<Op>(std::move(form), group, std::forward<First>(first), std::forward<A>(args)...);
  } else if constexpr (1 + sizeof...(A) == Op::one_buffer_arity && (two_buffers || Value<First>)) {
    return start_on_one<Op, two_buffers>(std::move(form), group, std::forward<First>(first), std::forward<A>(args)...);
  } else {
    return start<Op, false>(std::move(form), group, std::forward<First>(first), std::forward<A>(args)...);
  }
}

/// Runs the nonblocking form on one buffer, which may be given away, or on a variable.
template <class Op, class B, class... A>
auto start_inplace(Nonblocking form, const Group& group, B&& buffer, A&&... args) {
  return start<Op, true>(std::move(form), group, as_buffer(std::forward<B>(buffer)), std::forward<A>(args)...);
}

/// An argument of a persistent operation.
template <bool IsBuffer, class A>
constexpr decltype(auto) planned(A&& argument) {
  if constexpr (IsBuffer) {
    return as_buffer(std::forward<A>(argument));
  } else {
    return std::forward<A>(argument);
  }
}

/// Runs the persistent form. The last argument may be an Info.
template <class Op, bool InPlace, class... A>
auto plan(Persistent form, const Group& group, A&&... args) {
  constexpr unsigned buffers = InPlace ? 0b1 : Op::buffers;
  static_assert(owned_mask<buffers, A...>() == 0,
                "a persistent operation borrows its buffers: pass a named container or a span, not a temporary that "
                "dies with the call");
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (InPlace) {
      return Op::run_inplace(form, group, planned<(buffers >> I & 1) != 0>(std::forward<A>(args))...);
    } else {
      return Op::run(form, group, planned<(buffers >> I & 1) != 0>(std::forward<A>(args))...);
    }
  }
  (std::index_sequence_for<A...>());
}

template <class... A>
consteval bool ends_with_info() {
  if constexpr (sizeof...(A) == 0) {
    return false;
  } else {
    using Last = std::tuple_element_t<sizeof...(A) - 1, std::tuple<A...>>;
    return std::is_same_v<std::remove_cvref_t<Last>, Info>;
  }
}

template <class Op, bool InPlace, class... A>
auto plan_with_info(Persistent form, const Group& group, A&&... args) {
  if constexpr (ends_with_info<A...>()) {
    std::tuple<A&&...> given(std::forward<A>(args)...);
    form.info = std::get<sizeof...(A) - 1>(given).native();
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return plan<Op, InPlace>(std::move(form), group,
                               std::forward<std::tuple_element_t<I, std::tuple<A&&...>>>(std::get<I>(given))...);
    }
    (std::make_index_sequence<sizeof...(A) - 1>());
  } else {
    return plan<Op, InPlace>(std::move(form), group, std::forward<A>(args)...);
  }
}

}  // namespace FERROMPI_VARIANT
}  // namespace detail
}  // namespace ferrompi
