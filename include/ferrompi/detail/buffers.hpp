// The arguments of operations: what is read, what is written, what is owned.
#pragma once

#include <cobre/comm/base/buffer.hpp>
#include <ferrompi/datatype.hpp>

#include <span>
#include <type_traits>

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

}  // namespace ferrompi::detail
