// What ranks and rank 0 say to each other while they come together, after each has proved that it knows the key. Every
// frame has a fixed size and ends with a seal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/backends/tcp/address.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/keys.hpp"
#include "comm/core/waiting_cpus.hpp"
#include "comm/topology/placement.hpp"

namespace cobre::comm::tcp {

/// Text of bounded length inside a frame.
template <std::size_t N>
struct Text {
  std::array<char, N> characters{};

  void say(std::string_view words) noexcept {
    const std::size_t length = words.size() < N - 1 ? words.size() : N - 1;
    for (std::size_t i = 0; i < length; ++i) characters[i] = words[i];
    characters[length] = '\0';
  }
  /// Up to the first zero, wherever the sender put it; characters that a terminal should not see are replaced.
  [[nodiscard]] std::string words() const {
    std::string text;
    for (const char c : characters) {
      if (c == '\0') break;
      text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    return text;
  }
};

/// One rank, as it presents itself and as rank 0 passes it on to all.
struct Member {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  Address::Wire door;  // where it takes in links
  Bytes32 host{};      // the same for ranks that can share memory
  Text<64> host_name;
  std::int32_t pid = 0;
  std::uint32_t shares_memory = 0;
  core::CpuMask cpus{};
  std::uint64_t cpu_quota = 0;
  topology::PlacementRecord placement;
};

enum class ReplyKind : std::uint32_t { Accepted = 1, Refused, Table, Go, Failed, Died };

struct Reply {
  ReplyKind kind = ReplyKind::Accepted;
  std::uint32_t rank = 0;  // of whom it tells; where it accepts, for how many milliseconds rank 0 goes on waiting
  Bytes32 job{};
  Text<472> text;
};

/// What a rank reports once it has tried to reach those that it needs.
enum class Reached : std::uint32_t { All = 1, SomeDidNotCome, Unreachable };
struct Outcome {
  Reached reached = Reached::All;
  std::uint32_t reserved = 0;
  Text<472> text;
};

/// Which way a sealed frame goes, and the how-manieth it is: none can be dropped, repeated or turned round.
enum class Direction : std::uint32_t { ToRankZero = 1, FromRankZero = 2 };
struct SealNumber {
  Direction direction;
  std::uint32_t number;
};
[[nodiscard]] Mac seal_of(const Key& session, SealNumber number, std::span<const std::byte> body);

template <class Body>
struct Sealed {
  Body body;
  Mac seal{};
};
template <class Body>
[[nodiscard]] Sealed<Body> sealed(const Key& session, SealNumber number, const Body& body) {
  return {body, seal_of(session, number, raw(body))};
}
template <class Body>
[[nodiscard]] bool seal_holds(const Key& session, SealNumber number, const Sealed<Body>& frame) {
  return same(frame.seal, seal_of(session, number, raw(frame.body)));
}

/// The job on its way to a rank, unreadable for others; the same again makes it readable.
[[nodiscard]] Bytes32 masked(const Bytes32& job, const Key& session);

/// Whether a rank of a job of that size can use what rank 0 says.
[[nodiscard]] bool is_sensible(const Reply& reply, std::size_t size) noexcept;
/// What is wrong with a rank that presents itself to a job of that size; nothing where it is welcome.
[[nodiscard]] std::optional<std::string> problem_with(const Member& member, std::size_t size);
/// Whether a table makes sense: each rank in its place, with an address.
[[nodiscard]] bool is_table(std::span<const Member> members);

}  // namespace cobre::comm::tcp
