// The one checker of arguments. Every backend's collectives pass through it before anything is sent, so the same
// mistake gives the same error with the same numbers everywhere, and the communicator stays good.
#pragma once

#include <cobre/comm/base/reduce_op.hpp>
#include <cobre/comm/detail/device_memory.hpp>
#include <cobre/comm/errors.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace cobre::comm::detail {

// Off the hot path, out of line: the success path of a check is a comparison and a branch never taken. `where` goes by
// value, so that it is put together only there.
[[noreturn, gnu::cold]] void throw_invalid_root(Where where, std::size_t root);
[[noreturn, gnu::cold]] void throw_different_lengths(Where where, std::size_t send, std::size_t recv);
[[noreturn, gnu::cold]] void throw_overlap(Where where, std::size_t overlapping_bytes, std::size_t element_size);
[[noreturn, gnu::cold]] void throw_undefined(Where where, ReduceOp op, ElementType type);
[[noreturn, gnu::cold]] void throw_not_contiguous(Where where);
[[noreturn, gnu::cold]] void throw_no_room(Where where, std::size_t count, std::size_t element_size,
                                           std::size_t lacking);

[[noreturn, gnu::cold]] void throw_unusable(Where where, const void* data, std::size_t count, std::size_t element_size);

/// Whether elements at an address that was not seen before can be there; remembers that. Knows no `where`, which would
/// have to be put together before the call.
[[nodiscard, gnu::cold]] bool look_at_memory(const void* data, std::size_t count, std::size_t element_size) noexcept;

/// The elements can be there at all: an address, a length that a process can have, and memory that a processor reads.
template <class T, std::size_t N>
void check_memory(const Where& where, std::span<T, N> elements) {
  if constexpr (N == std::dynamic_extent) {
    constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T);
    if (!is_known_to_be_on_host(elements.data()) || elements.size() > most) [[unlikely]] {
      if (!look_at_memory(elements.data(), elements.size(), sizeof(T)))
        throw_unusable(where, elements.data(), elements.size(), sizeof(T));
    }
  } else if (N > 0 && elements.data() == nullptr) [[unlikely]] {
    // What has its length in its type is an object of the program otherwise, and lies where the program runs.
    throw_unusable(where, nullptr, N, sizeof(T));
  }
}

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

/// The names by which the user knows a buffer that holds a part of every rank.
struct SegmentNames {
  std::string_view buffer;
  std::string_view counts;
  std::string_view displs;
};

/// One count and one displacement a rank, every segment inside the buffer (over all ranks and without overflow).
void check_read_segments(Where where, const SegmentNames& names, std::size_t length,
                         std::span<const std::size_t> counts, std::span<const std::size_t> displs);
/// And no two segments share an element.
void check_written_segments(Where where, const SegmentNames& names, std::size_t length,
                            std::span<const std::size_t> counts, std::span<const std::size_t> displs);
/// `part` is as long as this rank's count, of which there is one.
void check_own_count(Where where, std::string_view part, std::size_t length, std::string_view name,
                     std::span<const std::size_t> counts);
/// All of it, for an allgatherv.
void check_gathered_segments(Where where, std::size_t send, std::size_t recv, std::span<const std::size_t> counts,
                             std::span<const std::size_t> displs);
/// Parts that lie one behind the other: one count a rank, together all of `send`.
void check_packed_parts(Where where, std::size_t send, std::span<const std::size_t> counts);

[[noreturn, gnu::cold]] void throw_wrong_blocks(Where where, std::string_view whole, std::size_t length,
                                                std::string_view block, std::size_t block_length);
[[noreturn, gnu::cold]] void throw_not_divisible(Where where, std::size_t length);
[[noreturn, gnu::cold]] void throw_part_for_itself(Where where, std::size_t sent, std::size_t received);

/// `whole` holds one block a rank, each as long as `block`.
constexpr void check_blocks(Where where, std::string_view whole, std::size_t length, std::string_view block,
                            std::size_t block_length) {
  // A product that overflows is none: then the quotient differs.
  if (length / where.size != block_length || length % where.size != 0) [[unlikely]]
    throw_wrong_blocks(where, whole, length, block, block_length);
}

constexpr void check_divisible(Where where, std::size_t length) {
  if (length % where.size != 0) [[unlikely]]
    throw_not_divisible(where, length);
}

/// What a rank sends itself is as long as what it expects of itself.
constexpr void check_part_for_itself(Where where, std::size_t sent, std::size_t received) {
  if (sent != received) [[unlikely]]
    throw_part_for_itself(where, sent, received);
}

}  // namespace cobre::comm::detail
