// Which parser an input of the tcp fuzzer is for: its first byte. And what inputs are made of that are not plain
// frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "comm/backends/tcp/credential.hpp"
#include "comm/backends/tcp/messages.hpp"
#include "comm/backends/tcp/wire.hpp"

namespace fuzz {

enum class Parser : std::uint8_t {
  Accept,
  Join,
  Reply,
  Listen,
  Header,
  Address,
  Messages,
  Introduce,
  Vouch,
  Watch,
  Receive,
  Coordinator,
  Joiner,
  PartDoors,
  Calibrate,
  Mail
};
inline constexpr std::uint8_t parser_count = static_cast<std::uint8_t>(Parser::Mail) + 1;

inline constexpr std::uint32_t job_size = 4;

/// Of `Vouch`: a credential as a peer sends it. What MUNGE finds in one follows, as far as the input goes.
struct Vouching {
  cobre::comm::tcp::Credential credential;
  std::uint32_t writer = 0;
};
inline constexpr std::uint32_t user = 1000;

/// Of `Watch`: who hears the notices that follow, and from whom.
struct Watching {
  std::uint8_t rank = 0;  // modulo 2: 0, the root of the job, or 2, which has a parent and a child
  std::uint8_t peer = 0;  // modulo 2: of rank 0 its children 1 and 2, of rank 2 its parent 0 and its child 3
};

/// Of `Receive`: one message of an operation. What is not zero is changed of the header that an honest peer sends.
struct Receiving {
  std::uint8_t length = 0;  // an index
  std::array<std::uint8_t, sizeof(cobre::comm::tcp::Header)> change{};
};
/// Short ones are taken from the kernel together with others, long ones on their own.
inline constexpr std::array<std::size_t, 6> lengths{0, 8, 1000, 2048, 2056, 4000};
/// What stands before those: which operation it is, and how much is missing at the end of the stream.
struct Received {
  std::uint8_t pairwise = 0;  // modulo 2: whether lengths are known to the two ranks alone
  std::uint8_t missing = 0;
};
inline constexpr std::size_t most_messages = 8;

/// How a frame comes that was sealed as it should be: changed afterwards in one place, where `by` is not zero, or not
/// to its end.
enum class Cut : std::uint8_t { None, Shorter, NothingAtAll };
inline constexpr std::uint8_t cuts = static_cast<std::uint8_t>(Cut::NothingAtAll) + 1;
struct Sending {
  std::uint8_t cut = 0;
  std::uint8_t by = 0;
  std::uint16_t place = 0;
};

/// Of `Coordinator`: one that knows the secret and comes as rank 1, 2, 1, … before those for whom rank 0 waits. What is
/// not zero is changed of what an honest rank says.
inline constexpr std::uint32_t gathered = 3;
struct Visit {
  std::uint8_t leaves = 0;  // modulo 2: as soon as it has been answered
  std::uint8_t reserved = 0;
  Sending member_sent;
  Sending outcome_sent;
  std::array<std::uint8_t, sizeof(cobre::comm::tcp::Member)> member{};
  std::array<std::uint8_t, 72> outcome{};  // of its first bytes
};
inline constexpr std::size_t most_visits = 8;

/// Of `Joiner`: what rank 0 says to rank 1, which has proved itself and said who it is.
struct Saying {
  std::uint8_t kind = 0;  // less one: of ReplyKind, whatever is changed of it below
  std::uint8_t reserved = 0;
  Sending reply_sent;
  Sending table_sent;                                                   // after a table was announced
  std::array<std::uint8_t, 72> reply{};                                 // of its first bytes
  std::array<std::uint8_t, sizeof(cobre::comm::tcp::Member)> member{};  // of one entry of the table
  std::uint8_t entry = 0;
  std::uint8_t reserved_too = 0;
};

}  // namespace fuzz
