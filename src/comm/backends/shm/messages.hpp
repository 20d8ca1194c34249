// What the ranks of a group say to each other before they share memory, and afterwards to hand over memory files.
// Sockets keep message boundaries (SOCK_SEQPACKET); every message is a struct of fixed size and some descriptors.
#pragma once

#include <cobre/comm/shm.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "comm/backends/shm/layout.hpp"
#include "comm/backends/shm/peers.hpp"
#include "comm/core/descriptor.hpp"
#include "comm/core/waiting_cpus.hpp"

namespace cobre::comm::shm {

inline constexpr std::uint64_t protocol_magic = 0x312d6d68732d6363U;  // "cc-shm-1"; the layout of the segment included

/// The first word of every rank but 0; its process's descriptor comes with it.
struct Hello {
  std::uint64_t magic = protocol_magic;
  std::uint64_t layout = sizeof(RankBlock) ^ sizeof(ChannelBlock) << 16 ^ sizeof(Agreement) << 32;
  std::uint64_t name_check = 0;  // the socket's name is a hash of the group's; this is another one
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  ProcessIdentity process;
  core::CpuMask cpus{};
  std::uint64_t cpu_quota = 0;
  std::uint32_t fences = 0;  // whether this process joined the heavy fences
  std::uint32_t reserved = 0;
};

/// What the process that calls this is.
[[nodiscard]] Hello hello_of(const ShmConfig& config);
/// What comes with it. Throws InitializationFailed where the kernel has none.
[[nodiscard]] core::Descriptor process_to_watch();

enum class ReplyKind : std::uint32_t {
  Accepted,  // more to come
  Welcome,   // the segment, and the processes of all ranks
  Refused,   // `text` says why
  Died,      // another rank, after it had come
  NoMemory,  // for the segment: `bytes` were wanted
};

struct Reply {
  std::uint64_t magic = protocol_magic;
  ReplyKind kind = ReplyKind::Accepted;
  std::int32_t rank = 0;
  std::int32_t pid = 0;
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;
  std::array<std::uint8_t, largest_group> process_of{};  // index among the descriptors, or `here`
  std::array<char, 448> text{};

  static constexpr std::uint8_t here = 0xff;
  void say(std::string_view words) noexcept;
  /// Up to the first zero; characters that a terminal should not see are replaced.
  [[nodiscard]] std::string words() const;
};

/// Whether a rank of a group of that size can use what the answer says.
[[nodiscard]] bool is_sensible(const Reply& reply, std::size_t size) noexcept;

enum class Received { Message, Nothing, Closed, Malformed };

template <class Message>
concept FixedMessage = std::is_trivially_copyable_v<Message>;

/// Never blocks and never raises SIGPIPE. False where the other side is gone or does not read.
[[nodiscard]] bool send_bytes(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors) noexcept;
[[nodiscard]] Received receive_bytes(int socket, std::span<std::byte> bytes,
                                     std::vector<core::Descriptor>& descriptors);

template <FixedMessage Message>
[[nodiscard]] bool send_message(const core::Descriptor& socket, const Message& message,
                                std::span<const int> descriptors = {}) noexcept {
  return send_bytes(socket.get(), std::as_bytes(std::span(&message, 1)), descriptors);
}
/// Takes one message if it is there.
template <FixedMessage Message>
[[nodiscard]] Received receive_message(const core::Descriptor& socket, Message& message,
                                       std::vector<core::Descriptor>& descriptors) {
  return receive_bytes(socket.get(), std::as_writable_bytes(std::span(&message, 1)), descriptors);
}

}  // namespace cobre::comm::shm
