#include "comm/backends/tcp/sockets.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "comm/core/fork_guard.hpp"
#include "comm/core/progress.hpp"

namespace cobre::comm::tcp {
namespace {

constexpr int near_bytes = 256 << 10;

template <class Value>
void set(int socket, int level, int option, Value value) noexcept {
  (void)setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

Moved receive_some(int socket, std::span<std::byte> bytes, std::size_t& done) noexcept {
  const std::size_t before = done;
  while (done < bytes.size()) {
    const ssize_t got = recv(socket, bytes.data() + done, bytes.size() - done, MSG_DONTWAIT);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got < 0 && errno == EAGAIN) {
      return done == before ? Moved::Nothing : Moved::Some;
    } else if (got == 0 || errno != EINTR) {
      return Moved::Closed;
    }
  }
  return Moved::All;
}

Moved send_some(int socket, std::span<const std::byte> bytes, std::size_t& done) noexcept {
  const std::size_t before = done;
  while (done < bytes.size()) {
    const ssize_t sent = send(socket, bytes.data() + done, bytes.size() - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (sent < 0 && errno == EAGAIN) {
      return done == before ? Moved::Nothing : Moved::Some;
    } else if (sent < 0 && errno != EINTR) {
      return Moved::Closed;
    }
  }
  return Moved::All;
}

bool await(int socket, short events, Clock::time_point deadline, const std::function<bool()>& pointless) {
  // Who is asked for something answers at once, as a rule: so long even a fiber waits, and then it gives way.
  bool first = true;
  const auto longest_pause = [&]() -> long {
    if (!pointless) return 1000;
    if (!core::has_other_work()) return 20;
    return std::exchange(first, false) || core::footing() != core::Footing::Fiber ? 1 : 0;
  };
  for (;;) {
    // What is ready at the deadline is in time.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{.fd = socket, .events = events, .revents = 0};
    if (poll(&entry, 1, static_cast<int>(std::clamp<long>(left, 0, longest_pause()))) > 0) return true;
    if (left <= 0 || (pointless && pointless())) return false;
  }
}

bool receive_all(int socket, std::span<std::byte> bytes, Clock::time_point deadline,
                 const std::function<bool()>& pointless) {
  for (std::size_t done = 0;;) {
    const Moved moved = receive_some(socket, bytes, done);
    if (moved == Moved::All) return true;
    if (moved == Moved::Closed || !await(socket, POLLIN, deadline, pointless)) return false;
  }
}

bool send_all(int socket, std::span<const std::byte> bytes, Clock::time_point deadline) noexcept {
  for (std::size_t done = 0;;) {
    const Moved moved = send_some(socket, bytes, done);
    if (moved == Moved::All) return true;
    if (moved == Moved::Closed || !await(socket, POLLOUT, deadline)) return false;
  }
}

bool settled(int socket) noexcept {
  // The other end often leaves too, and waits for the same: a kernel that has nothing to send says only after 40 ms
  // what has come, unless it is told to.
  set(socket, IPPROTO_TCP, TCP_QUICKACK, 1);
  int unsent = 0;
  pollfd entry{.fd = socket, .events = 0, .revents = 0};
  return ioctl(socket, SIOCOUTQ, &unsent) != 0 || unsent == 0 || poll(&entry, 1, 0) > 0;
}

std::optional<std::chrono::milliseconds> unacknowledged_for(int socket) noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || info.tcpi_unacked == 0) return std::nullopt;
  return std::chrono::milliseconds(info.tcpi_last_ack_recv);
}

Opened open_listener(const Address& address, int backlog) {
  Opened opened{core::Descriptor(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), 0};
  if (!opened.socket) return {{}, errno};
  core::close_in_children(opened.socket.get());
  // A port whose last connections are still dying away may be used again; one where somebody listens may not.
  set(opened.socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family() == AF_INET6) set(opened.socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, address.is_any() ? 0 : 1);
  if (bind(opened.socket.get(), address.get(), address.length()) != 0 || listen(opened.socket.get(), backlog) != 0) {
    return {{}, errno};
  }
  return opened;
}

Opened begin_connection(const Address& target, const std::optional<Address>& source) {
  Opened opened{core::Descriptor(socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), 0};
  if (!opened.socket) return {{}, errno};
  const int fd = opened.socket.get();
  core::close_in_children(fd);
  if (source && source->family() == target.family() && !source->is_any()) {
    Address from = *source;
    from.set_port(0);
    // The port is chosen when it is known where to: otherwise each connection would take one of its own.
    set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    if (bind(fd, from.get(), from.length()) != 0) return {{}, errno};
  }
  if (connect(fd, target.get(), target.length()) != 0 && errno != EINPROGRESS) return {{}, errno};
  return opened;
}

int outcome_of_connection(int socket, const Address& target) {
  int error = 0;
  socklen_t length = sizeof error;
  (void)getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return error;
  // On one machine a socket that connects to a free port may be given that very port, and then talks to itself.
  return Address::local_of(socket).text() == target.text() ? ECONNREFUSED : 0;
}

Opened open_connection(const Address& target, const std::optional<Address>& source, Clock::time_point deadline,
                       const std::function<bool()>& pointless) {
  Opened opened = begin_connection(target, source);
  if (!opened.socket) return opened;
  if (!await(opened.socket.get(), POLLOUT, deadline, pointless)) return {{}, ETIMEDOUT};
  if (const int error = outcome_of_connection(opened.socket.get(), target)) return {{}, error};
  return opened;
}

void hurry(int socket) noexcept {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  // Inside of a machine nothing travels: what was sent waits in memory for the peer to copy it out. More than a cache
  // holds makes that slower; left to itself, the kernel lets it grow to megabytes.
  if (same_host(Address::local_of(socket), Address::peer_of(socket))) set(socket, SOL_SOCKET, SO_SNDBUF, near_bytes);
}

void watch_over(int socket, std::chrono::milliseconds host_timeout) noexcept {
  const auto milliseconds = static_cast<unsigned>(std::clamp<long>(host_timeout.count(), 1, 1L << 30));
  // What was sent and never acknowledged ends the connection, and so does an idle one whose probes are not answered.
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds);
  const int seconds = static_cast<int>(std::max(1U, milliseconds / 4000));
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

}  // namespace cobre::comm::tcp
