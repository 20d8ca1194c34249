// The arguments of operations: what is read, what is written, what is owned.
#pragma once

#include <cobre/comm/base/buffer.hpp>
#include <ferrompi/datatype.hpp>

#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace ferrompi::detail {

using cobre::comm::detail::BufferLike;
using cobre::comm::detail::element_t;
using cobre::comm::detail::GivenAway;
using cobre::comm::detail::input;
using cobre::comm::detail::lengths_may_agree;
using cobre::comm::detail::output;

/// One value rather than a range of elements.
template <class B>
concept Value = !BufferLike<B>;

template <class S, class R>
consteval void require_same_elements() {
  static_assert(std::is_same_v<element_t<S>, element_t<R>>, "send and recv must have elements of the same type");
}

/// A variable in the place of a buffer is a buffer of one element; what is a buffer stays as it is.
template <class B>
FERROMPI_INLINE constexpr decltype(auto) as_buffer(B&& buffer) {
  if constexpr (Value<B>) {
    static_assert(std::is_lvalue_reference_v<B>,
                  "this value is written to, or read again after the call: pass a variable, not a temporary that dies "
                  "with the call");
    return std::span<std::remove_reference_t<B>, 1>(std::addressof(buffer), 1);
  } else {
    return std::forward<B>(buffer);
  }
}

}  // namespace ferrompi::detail
