// Sockets as this backend uses them: never blocking, never inherited by another program, without delay, and with an end
// where the other machine is gone.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "comm/backends/tcp/address.hpp"
#include "comm/core/descriptor.hpp"

namespace cobre::comm::tcp {

using Clock = std::chrono::steady_clock;

/// How much to give to the kernel, or to take from it, in one call. More falls out of the caches before the other side
/// takes it, and leaves that side waiting for longer; less is more calls and more packets.
inline constexpr std::size_t most_at_once = std::size_t{1} << 19;

/// What came of one attempt to move bytes.
enum class Moved { All, Some, Nothing, Closed };

/// Takes or gives what the socket can now; `done` counts.
[[nodiscard]] Moved receive_some(int socket, std::span<std::byte> bytes, std::size_t& done) noexcept;
[[nodiscard]] Moved send_some(int socket, std::span<const std::byte> bytes, std::size_t& done) noexcept;

/// The same until all bytes are there, at most until the deadline; false where it passed or the other side is gone.
/// `pointless`, where given, is asked again and again, and ends the waiting too.
[[nodiscard]] bool receive_all(int socket, std::span<std::byte> bytes, Clock::time_point deadline,
                               const std::function<bool()>& pointless = {});
[[nodiscard]] bool send_all(int socket, std::span<const std::byte> bytes, Clock::time_point deadline) noexcept;

/// Waits until the socket is ready for `events`; false where the deadline passed, or it is pointless. Without a socket
/// (-1) it is a sleep. Whoever may run on a fiber gives way in `pointless`.
[[nodiscard]] bool await(int socket, short events, Clock::time_point deadline,
                         const std::function<bool()>& pointless = {});

/// Whether the other machine has everything that was sent, or nobody there would take it.
[[nodiscard]] bool settled(int socket) noexcept;
/// For how long the other machine has acknowledged nothing, where it has something to acknowledge. A process that is
/// stopped does not matter for that: its kernel answers.
[[nodiscard]] std::optional<std::chrono::milliseconds> unacknowledged_for(int socket) noexcept;

/// A listening socket, or the errno of the failure. `again`: a port that an ended job just used may be taken.
struct Opened {
  core::Descriptor socket;
  int error = 0;
};
[[nodiscard]] Opened open_listener(const Address& address, int backlog);

/// Begins to connect, from `source` where it says anything. It has come to an end when the socket is ready for writing.
[[nodiscard]] Opened begin_connection(const Address& target, const std::optional<Address>& source);
/// To which one: an errno, or 0.
[[nodiscard]] int outcome_of_connection(int socket, const Address& target);
/// Both, waiting until the deadline, or until it is pointless.
[[nodiscard]] Opened open_connection(const Address& target, const std::optional<Address>& source,
                                     Clock::time_point deadline, const std::function<bool()>& pointless = {});

/// No delay for small messages.
void hurry(int socket) noexcept;
/// A peer whose machine does not answer for that long is gone. Not for links that carry data: there the kernel would
/// count the time for which a living peer, busy with something else, does not read.
void watch_over(int socket, std::chrono::milliseconds host_timeout) noexcept;

}  // namespace cobre::comm::tcp
