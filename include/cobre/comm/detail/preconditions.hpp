// The one checker of arguments. Every backend's collectives pass through it before anything is sent, so the same
// mistake gives the same error with the same numbers everywhere, and the communicator stays good.
#pragma once

#include <cobre/comm/base/reduce_op.hpp>
#include <cobre/comm/errors.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cobre::comm::detail {

// Off the hot path, out of line: the success path of a check is a comparison and a branch never taken. `where` goes by
// value, so that it is put together only there.
[[noreturn, gnu::cold]] void throw_invalid_root(Where where, std::size_t root);
[[noreturn, gnu::cold]] void throw_different_lengths(Where where, std::size_t send, std::size_t recv);
[[noreturn, gnu::cold]] void throw_overlap(Where where, std::size_t overlapping_bytes, std::size_t element_size);
[[noreturn, gnu::cold]] void throw_undefined(Where where, ReduceOp op, ElementType type);
[[noreturn, gnu::cold]] void throw_not_contiguous(Where where);
[[noreturn, gnu::cold]] void throw_no_room(Where where, std::size_t count, std::size_t element_size);

constexpr void check_root(Where where, std::size_t root) {
  if (root >= where.size) [[unlikely]]
    throw_invalid_root(where, root);
}

constexpr void check_defined(Where where, ReduceOp op, ElementType type) {
  if (!is_defined(op, type)) [[unlikely]]
    throw_undefined(where, op, type);
}

constexpr void check_same_length(Where where, std::size_t send, std::size_t recv) {
  if (send != recv) [[unlikely]]
    throw_different_lengths(where, send, recv);
}

/// `send` and `recv` share no byte.
template <class T>
void check_apart(Where where, std::span<const T> send, std::span<T> recv) {
  const auto send_begin = reinterpret_cast<std::uintptr_t>(send.data());
  const auto recv_begin = reinterpret_cast<std::uintptr_t>(recv.data());
  const auto send_end = send_begin + send.size_bytes();
  const auto recv_end = recv_begin + recv.size_bytes();
  if (send_begin < recv_end && recv_begin < send_end) [[unlikely]] {
    const auto begin = send_begin > recv_begin ? send_begin : recv_begin;
    const auto end = send_end < recv_end ? send_end : recv_end;
    if (end > begin) throw_overlap(where, end - begin, sizeof(T));
  }
}

/// One count and one displacement a rank, `send` as long as its own count, every segment inside `recv` (over all
/// ranks and without overflow), no two segments sharing an element.
void check_gathered_segments(Where where, std::size_t send, std::size_t recv, std::span<const std::size_t> counts,
                             std::span<const std::size_t> displs);

}  // namespace cobre::comm::detail
