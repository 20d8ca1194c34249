// What stands before every message between two ranks, wherever messages travel as a stream of bytes.
#pragma once

#include <cobre/comm/detail/mailbox.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace cobre::comm::algorithms {

struct Letter {
  static constexpr std::uint32_t expected_magic = 0x6c636363U;

  std::uint32_t magic = expected_magic;
  std::uint16_t from = 0;
  std::uint16_t realm = 0;
  std::int64_t tag = 0;
  std::uint64_t bytes = 0;   // that follow
  std::uint64_t number = 0;  // the how-manieth message of this rank to that one
};
static_assert(sizeof(Letter) == 32);

/// Whether this can be the next letter from that rank: what a peer sends is believed only as far as it makes sense.
[[nodiscard]] constexpr bool is_sensible(const Letter& letter, std::size_t from, std::uint64_t number) noexcept {
  return letter.magic == Letter::expected_magic && letter.from == from && letter.number == number &&
         letter.realm <= static_cast<std::uint16_t>(detail::Realm::Channel) && letter.tag >= 0 &&
         letter.bytes <= static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
}

}  // namespace cobre::comm::algorithms
