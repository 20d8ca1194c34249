// Buffers: any contiguous range becomes a span here, and what cannot be one is refused in plain words.
#pragma once

#include <cobre/comm/base/element_type.hpp>

#include <array>
#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

namespace cobre::comm::detail {

// Matrix and vector classes that are no ranges still say where their elements are.
template <class B>
concept HasDataAndSize = requires(B& buffer) {
  { buffer.data() } -> std::same_as<std::add_pointer_t<std::remove_pointer_t<decltype(buffer.data())>>>;
  { buffer.size() } -> std::convertible_to<std::size_t>;
};

/// Whether an argument is taken as "its elements" rather than as one value.
template <class B>
concept BufferLike = std::ranges::range < std::remove_reference_t<B>
& > || HasDataAndSize<std::remove_reference_t<B>>;

/// A container that is moved in: its elements die with the argument unless the operation keeps it.
template <class B>
concept GivenAway = BufferLike<B> && !std::is_lvalue_reference_v<B> && !std::ranges::borrowed_range<B>;

template <class B>
inline constexpr bool is_vector_bool = false;
template <class A>
inline constexpr bool is_vector_bool<std::vector<bool, A>> = true;

template <class B>
concept Contiguous =
    !is_vector_bool<std::remove_cvref_t<B>> && ((std::ranges::contiguous_range<std::remove_reference_t<B>&> &&
                                                 std::ranges::sized_range<std::remove_reference_t<B>&>) ||
                                                HasDataAndSize<std::remove_reference_t<B>>);

template <Contiguous B>
constexpr auto* data_of(B&& buffer) {
  if constexpr (std::ranges::contiguous_range<std::remove_reference_t<B>&>) {
    return std::ranges::data(buffer);
  } else {
    return buffer.data();
  }
}

template <Contiguous B>
constexpr std::size_t size_of(B&& buffer) {
  if constexpr (std::ranges::sized_range<std::remove_reference_t<B>&>) {
    return static_cast<std::size_t>(std::ranges::size(buffer));
  } else {
    return static_cast<std::size_t>(buffer.size());
  }
}

template <class B>
struct BufferElement;
template <Contiguous B>
struct BufferElement<B> {
  using type = std::remove_pointer_t<decltype(data_of(std::declval<std::remove_reference_t<B>&>()))>;
};

template <class B>
using qualified_element_t = typename BufferElement<B>::type;
template <class B>
using element_t = std::remove_cv_t<qualified_element_t<B>>;

template <class B>
inline constexpr std::size_t static_extent_v = std::dynamic_extent;
template <class T, std::size_t N>
inline constexpr std::size_t static_extent_v<T[N]> = N;
template <class T, std::size_t N>
inline constexpr std::size_t static_extent_v<std::array<T, N>> = N;
template <class T, std::size_t N>
inline constexpr std::size_t static_extent_v<std::span<T, N>> = N;

/// False only where both lengths are known at compile time and differ.
template <class A, class B>
inline constexpr bool lengths_may_agree =
    static_extent_v<std::remove_cvref_t<A>> == std::dynamic_extent ||
    static_extent_v<std::remove_cvref_t<B>> == std::dynamic_extent ||
    static_extent_v<std::remove_cvref_t<A>> == static_extent_v<std::remove_cvref_t<B>>;

template <class B>
consteval void require_contiguous() {
  static_assert(!is_vector_bool<std::remove_cvref_t<B>>,
                "std::vector<bool> packs bits and has no bool elements to send: use std::vector<char>, "
                "std::vector<std::uint8_t> or std::array<bool, N>");
  static_assert(Contiguous<B>,
                "a buffer must be a contiguous range with a known size, such as std::vector, std::span, "
                "std::array or a C array");
}

template <class T>
consteval void require_comm_data() {
  static_assert(!IsReferenceLike<T>::value,
                "pointers, spans and views mean nothing in another process: send what they point to");
  static_assert(IsReferenceLike<T>::value || CommData<T>,
                "elements must be trivially copyable and default-initialisable to travel between processes");
}

/// The elements of a buffer that is only read.
template <class B>
constexpr auto input(B&& buffer) {
  require_contiguous<B>();
  if constexpr (Contiguous<B>) {
    require_comm_data<element_t<B>>();
    return std::span<const element_t<B>>(data_of(buffer), size_of(buffer));
  } else {
    return std::span<const std::byte>();  // unreachable: keeps the static_assert above the only message
  }
}

/// The elements of a buffer that is written. A temporary container would take the result with it.
template <class B>
constexpr auto output(B&& buffer) {
  require_contiguous<B>();
  if constexpr (Contiguous<B>) {
    static_assert(!std::is_const_v<qualified_element_t<B>>,
                  "this buffer is written to: its elements must not be const");
    static_assert(
        std::is_lvalue_reference_v<B&&> || std::ranges::borrowed_range<B>,
        "this buffer is written to: pass a named container or a span, not a temporary that dies with the call");
    require_comm_data<element_t<B>>();
    return std::span<element_t<B>>(const_cast<element_t<B>*>(data_of(buffer)), size_of(buffer));
  } else {
    return std::span<std::byte>();
  }
}

/// Matrix classes offer data() and size() for blocks and strided views too, whose elements do not lie one behind the
/// other. They tell by their strides; everything else is packed.
template <class B>
concept HasStrides = requires(const std::remove_reference_t<B>& buffer) {
  buffer.innerStride();
  buffer.outerStride();
  buffer.innerSize();
  buffer.outerSize();
};

template <class B>
constexpr bool is_packed(const B& buffer) {
  if constexpr (HasStrides<B>) {
    return (buffer.innerSize() <= 1 || buffer.innerStride() == 1) &&
           (buffer.outerSize() <= 1 || buffer.innerSize() == 0 || buffer.outerStride() == buffer.innerSize());
  } else {
    return true;
  }
}

}  // namespace cobre::comm::detail
