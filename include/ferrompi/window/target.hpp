// One rank of a window, as the target of operations.
#pragma once

#include <cobre/comm/base/buffer.hpp>
#include <ferrompi/datatype.hpp>
#include <ferrompi/detail/checks.hpp>
#include <ferrompi/window/accumulate_op.hpp>
#include <ferrompi/window/state.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace ferrompi {

namespace detail {

/// The elements that an operation reads until it is completed later: not those of a temporary.
template <class T, class B>
[[nodiscard]] std::span<const T> origin(B&& buffer) {
  static_assert(std::is_lvalue_reference_v<B&&> || std::ranges::borrowed_range<B>,
                "the operation reads this buffer until a flush, unlock or fence: pass a named container or a span");
  const auto elements = cobre::comm::detail::input(buffer);
  static_assert(std::same_as<typename decltype(elements)::value_type, T>,
                "the elements of this buffer must be those of the window");
  return elements;
}

/// The elements that an operation writes until it is completed later.
template <class T, class B>
[[nodiscard]] std::span<T> result(B&& buffer) {
  const auto elements = cobre::comm::detail::output(std::forward<B>(buffer));
  static_assert(std::same_as<typename decltype(elements)::value_type, T>,
                "the elements of this buffer must be those of the window");
  return elements;
}

[[noreturn]] void throw_different_lengths(const char* operation, std::size_t values, std::size_t results);

}  // namespace detail

/// Operations on the segment of one rank, through MPI. They need an epoch: between two fences, or under a lock.
///
/// `put`, `get`, `accumulate` and `fetch_accumulate` only start: their buffers stay in use, and their results unseen,
/// until the next fence, or under a lock until a flush or unlock. Offsets and lengths are in elements and are checked.
/// Accumulates are atomic for each element, against each other; `put`, `get` and plain access are not.
template <class T>
class WindowTarget {
 public:
  // No move: a guard that was moved from is a target still, and refuses by a message.
  WindowTarget(const WindowTarget&) = default;
  WindowTarget& operator=(const WindowTarget&) = default;
  ~WindowTarget() = default;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// Elements that the rank allocated.
  [[nodiscard]] std::size_t size() const { return state_->segment(rank_, "size").count; }

  /// Writes `values` to the elements from `offset` on.
  template <cobre::comm::detail::BufferLike B>
  void put(B&& values, std::size_t offset = 0) const {
    require_packed("put", values);
    const auto from = detail::origin<T>(std::forward<B>(values));
    detail::WindowState::put(from.data(), from.size(), *state_, rank_, offset);
  }

  /// Reads the elements from `offset` on into `values`.
  template <cobre::comm::detail::BufferLike B>
  void get(B&& values, std::size_t offset = 0) const {
    require_packed("get", values);
    const auto into = detail::result<T>(std::forward<B>(values));
    detail::WindowState::get(into.data(), into.size(), *state_, rank_, offset);
  }

  /// `target = target op value`, element by element.
  template <cobre::comm::detail::BufferLike B>
  void accumulate(B&& values, AccumulateOp op, std::size_t offset = 0) const {
    require_packed("accumulate", values);
    const auto native = detail::native_accumulate_op<T>(op, "accumulate");
    const auto from = detail::origin<T>(std::forward<B>(values));
    detail::WindowState::accumulate(from.data(), from.size(), datatype_of<T>(), rank_, offset, native, *state_);
  }

  /// The same, and `results` receives what the target held before.
  template <cobre::comm::detail::BufferLike B, cobre::comm::detail::BufferLike R>
  void fetch_accumulate(B&& values, R&& results, AccumulateOp op, std::size_t offset = 0) const {
    require_packed("fetch_accumulate", values, results);
    const auto native = detail::native_accumulate_op<T>(op, "fetch_accumulate");
    const auto from = detail::origin<T>(std::forward<B>(values));
    const auto into = detail::result<T>(std::forward<R>(results));
    if (from.size() != into.size()) {
      detail::throw_different_lengths("fetch_accumulate", from.size(), into.size());
    }
    detail::WindowState::fetch_accumulate(from.data(), from.size(), datatype_of<T>(), into.data(), *state_, rank_,
                                          offset, native);
  }

  /// One element, atomically: `target = target op value`; returns what it held before. Complete on return, so it needs
  /// a lock: a fence epoch completes nothing before the next fence.
  T fetch_op(const T& value, AccumulateOp op, std::size_t offset = 0) const {
    const auto native = detail::native_accumulate_op<T>(op, "fetch_op");
    T before;
    state_->fetch_op(&value, &before, datatype_of<T>(), rank_, offset, native);
    return before;
  }

  /// One element, atomically: becomes `desired` if it is `expected`; returns what it held before. Needs a lock.
  T compare_and_swap(const T& expected, const T& desired, std::size_t offset = 0) const {
    constexpr auto type = cobre::comm::element_type_v<T>;
    static_assert((type >= ElementType::Int8 && type <= ElementType::UInt64) || type == ElementType::Bool ||
                      type == ElementType::Byte,
                  "compare_and_swap works on integers, enums, bool and std::byte: comparing anything else bit by bit "
                  "would not be comparing values");
    T before;
    state_->compare_and_swap(&desired, &expected, &before, datatype_of<T>(), rank_, offset);
    return before;
  }

 protected:
  template <class>
  friend class SharedWindow;
  template <class>
  friend class LockAllGuard;

  WindowTarget(const std::shared_ptr<detail::WindowState>& state, int rank) : state_(state), rank_(rank) {}

  std::shared_ptr<detail::WindowState> state_;
  int rank_;

 private:
  template <class... Buffer>
  FERROMPI_INLINE void require_packed(const char* operation, const Buffer&... buffers) const {
    detail::require_packed(operation, {MPI_COMM_NULL, state_->rank(), state_->size()}, buffers...);
  }
};

}  // namespace ferrompi
