// Internet addresses: reading them, resolving them, and saying them in messages.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cobre::comm::tcp {

/// Where rank 0 is to be found, as the user wrote it.
struct HostAndPort {
  std::string host;
  std::optional<std::uint16_t> port;

  friend bool operator==(const HostAndPort&, const HostAndPort&) = default;
};

/// "host", "host:port", "[v6]", "[v6]:port", or a bare IPv6 address; nothing where it is none of these.
[[nodiscard]] std::optional<HostAndPort> parse_host_and_port(std::string_view text);

/// An address of IPv4 or IPv6 with its port.
class Address {
 public:
  Address() = default;
  Address(const sockaddr* address, socklen_t length) noexcept;

  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t length() const noexcept;
  [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
  [[nodiscard]] std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  [[nodiscard]] bool is_loopback() const noexcept;
  [[nodiscard]] bool is_any() const noexcept;
  /// "10.0.0.1:4000", "[fe80::1%2]:4000".
  [[nodiscard]] std::string text() const;

  /// As it travels: no pointers, no padding, every bit pattern harmless.
  struct Wire {
    std::uint16_t family = 0;  // 4, 6, or 0 for none
    std::uint16_t port = 0;
    std::uint32_t scope = 0;
    std::array<std::uint8_t, 16> bytes{};
  };
  [[nodiscard]] Wire to_wire() const noexcept;
  /// Nothing where it is no address.
  [[nodiscard]] static std::optional<Address> from_wire(const Wire& wire) noexcept;
  /// What another host says, as this one has to say it, whose own end of the connection with it is `near`: each host
  /// numbers its interfaces by itself, and a link-local address leads nowhere without such a number.
  [[nodiscard]] static Wire as_seen_from(const Address& near, Wire said) noexcept;

  /// The near and the far end of a socket.
  [[nodiscard]] static Address local_of(int socket) noexcept;
  [[nodiscard]] static Address peer_of(int socket) noexcept;

 private:
  sockaddr_storage storage_{};
};

/// But for the port.
[[nodiscard]] bool same_host(const Address& a, const Address& b) noexcept;

/// All addresses of a host, in the order in which they should be tried. Empty, with the reason, where there is none.
struct Resolution {
  std::vector<Address> addresses;
  std::string problem;
  bool may_change = false;  // the resolver could not be asked now
};
[[nodiscard]] Resolution resolve(const std::string& host, std::uint16_t port);

}  // namespace cobre::comm::tcp
