// A rank over tcp with its sentinel and its wire, as the fuzzer's peer finds it.
#pragma once

#include <cobre/comm/errors.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/algorithms/letter.hpp"
#include "comm/algorithms/mailroom.hpp"

namespace fuzz {

/// A neighbour in the control tree that says this, and hangs up.
void watch(std::span<const std::byte> bytes);

/// The same as messages between two ranks: most letters made believable, so that some get past the first check, and
/// none longer than memory.
[[nodiscard]] std::vector<std::byte> with_believable_letters(std::span<const std::byte> bytes);
/// Receives whatever there may be of it.
template <class Mailroom>
void receive_letters(Mailroom& room, std::size_t stream_bytes) {
  const std::size_t receives = 1 + stream_bytes / sizeof(cobre::comm::algorithms::Letter);
  for (std::size_t i = 0; i < receives; ++i) {
    std::array<std::byte, 128> buffer{};
    cobre::comm::detail::Transfer receive("recv",
                                          {1, static_cast<std::int64_t>(i % 4), cobre::comm::detail::Realm::Channel},
                                          buffer.data(), i * 37 % buffer.size(), 1 + i % 3, i % 2 == 0);
    try {
      room.start(receive);
      if (room.test(receive) && receive.message_bytes > receive.bytes) __builtin_trap();
    } catch (const cobre::comm::CommError&) {
    }
  }
}
/// A peer that sends this over a connection for messages, and hangs up.
void receive_mail(std::span<const std::byte> bytes);

/// A peer that sends this in the place of the messages of operations, and hangs up.
void receive(std::span<const std::byte> bytes);

}  // namespace fuzz
