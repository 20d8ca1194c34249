// Preconditions, checked on this rank before anything is sent. The tests are inline, what they throw is not.
#pragma once

#include <cobre/comm/base/buffer.hpp>
#include <cobre/comm/base/reduce_op.hpp>
#include <ferrompi/constants.hpp>
#include <ferrompi/detail/group.hpp>
#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/detail/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace ferrompi::detail {

// Cold: each knows what the caller was doing and says what would have been right.
[[noreturn, gnu::cold, gnu::noinline]] void throw_moved_from(const char* operation);
[[noreturn, gnu::cold, gnu::noinline]] void throw_bad_root(const char* operation, const Group& group, int root);
[[noreturn, gnu::cold, gnu::noinline]] void throw_bad_peer(const char* operation, const Group& group, int peer);
[[noreturn, gnu::cold, gnu::noinline]] void throw_bad_tag(const char* operation, const Group& group, int tag);
[[noreturn, gnu::cold, gnu::noinline]] void throw_bad_op(const char* operation, const Group& group,
                                                         cobre::comm::ReduceOp op, cobre::comm::ElementType type);
[[noreturn, gnu::cold, gnu::noinline]] void throw_unequal(const char* operation, const Group& group, std::size_t send,
                                                          std::size_t recv);
/// `whole` should hold `size` blocks of `block` elements.
[[noreturn, gnu::cold, gnu::noinline]] void throw_bad_blocks(const char* operation, const Group& group,
                                                             std::size_t whole, std::size_t block);
[[noreturn, gnu::cold, gnu::noinline]] void throw_indivisible(const char* operation, const Group& group,
                                                              std::size_t whole);
[[noreturn, gnu::cold, gnu::noinline]] void throw_overlap(const char* operation, const Group& group);
/// `argument` counts from 1. The group may be unknown.
[[noreturn, gnu::cold, gnu::noinline]] void throw_not_packed(const char* operation, const Group& group,
                                                             std::size_t argument);

inline namespace FERROMPI_VARIANT {

/// MPI would take what lies between the elements of a strided view for elements, and write there. Asked of every
/// argument of a call, counts included; nothing is left of it for types that have no strides.
template <class... A>
FERROMPI_INLINE void require_packed([[maybe_unused]] const char* operation, [[maybe_unused]] const Group& group,
                                    [[maybe_unused]] const A&... args) {
  if constexpr (FERROMPI_CHECKS != 0 && (cobre::comm::detail::HasStrides<A> || ...)) {
    std::size_t argument = 0;
    const auto check = [&](const auto& given) {
      ++argument;
      if (!cobre::comm::detail::is_packed(given)) [[unlikely]] {
        throw_not_packed(operation, group, argument);
      }
    };
    (check(args), ...);
  }
}

/// The checks of one call. With FERROMPI_CHECKS=0 each is empty.
class Checks {
 public:
  FERROMPI_INLINE Checks(const char* operation, const Group& group) : operation_(operation), group_(group) {
    require_running(operation);
    if (enabled && group.size == 0) [[unlikely]] {
      throw_moved_from(operation);
    }
  }

  FERROMPI_INLINE void root(int root) const {
    // One comparison for both ends: a negative root is a huge unsigned number.
    if (enabled && static_cast<unsigned>(root) >= static_cast<unsigned>(group_.size)) [[unlikely]] {
      throw_bad_root(operation_, group_, root);
    }
  }

  FERROMPI_INLINE void destination(int peer) const {
    if (enabled && static_cast<unsigned>(peer) >= static_cast<unsigned>(group_.size) && peer != proc_null)
        [[unlikely]] {
      throw_bad_peer(operation_, group_, peer);
    }
  }

  FERROMPI_INLINE void source(int peer) const {
    if (peer != any_source) destination(peer);
  }

  FERROMPI_INLINE void send_tag(int tag) const {
    if (enabled && (tag < 0 || tag > largest_tag)) [[unlikely]] {
      throw_bad_tag(operation_, group_, tag);
    }
  }

  FERROMPI_INLINE void receive_tag(int tag) const {
    if (tag != any_tag) send_tag(tag);
  }

  template <class T>
  FERROMPI_INLINE void defined(cobre::comm::ReduceOp op) const {
    if (enabled && !cobre::comm::is_defined(op, cobre::comm::element_type_v<T>)) [[unlikely]] {
      throw_bad_op(operation_, group_, op, cobre::comm::element_type_v<T>);
    }
  }

  FERROMPI_INLINE void equal(std::size_t send, std::size_t recv) const {
    if (enabled && send != recv) [[unlikely]] {
      throw_unequal(operation_, group_, send, recv);
    }
  }

  FERROMPI_INLINE void blocks(std::size_t whole, std::size_t block) const {
    if (enabled && whole != block * static_cast<std::size_t>(group_.size)) [[unlikely]] {
      throw_bad_blocks(operation_, group_, whole, block);
    }
  }

  FERROMPI_INLINE void divisible(std::size_t whole) const {
    if (enabled && whole % static_cast<std::size_t>(group_.size) != 0) [[unlikely]] {
      throw_indivisible(operation_, group_, whole);
    }
  }

  /// MPI must not be given memory that it reads and writes in one call.
  template <class T>
  FERROMPI_INLINE void apart(std::span<const T> send, std::span<T> recv) const {
    if (enabled) {
      const auto from = reinterpret_cast<std::uintptr_t>(send.data());
      const auto to = reinterpret_cast<std::uintptr_t>(recv.data());
      if (to - from < send.size_bytes() || from - to < recv.size_bytes()) [[unlikely]] {
        if (!send.empty() && !recv.empty()) throw_overlap(operation_, group_);
      }
    }
  }

 private:
  static constexpr bool enabled = FERROMPI_CHECKS != 0;

  const char* operation_;
  const Group& group_;
};

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
