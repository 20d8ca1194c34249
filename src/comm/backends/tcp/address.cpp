#include "comm/backends/tcp/address.hpp"

#include <cobre/comm/base/number.hpp>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "comm/core/format.hpp"

namespace cobre::comm::tcp {
namespace {

// A character that a host name or an address may hold.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_' || c == '%' || c == ':';
}

}  // namespace

std::optional<HostAndPort> parse_host_and_port(std::string_view text) {
  constexpr std::size_t longest_host = 255;
  HostAndPort result;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    result.host = text.substr(1, close - 1);
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') return std::nullopt;
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
    if (result.host.find(':') == std::string::npos) return std::nullopt;  // brackets are for IPv6
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos && colon == text.rfind(':')) {
    result.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  } else {
    result.host = text;  // no colon, or the several of a bare IPv6 address
  }
  if (result.host.empty() || result.host.size() > longest_host || !std::ranges::all_of(result.host, is_plain)) {
    return std::nullopt;
  }
  if (has_port) {
    result.port = detail::parse_number<std::uint16_t>(port);
    if (result.port.value_or(0) == 0) return std::nullopt;
  }
  return result;
}

Address::Address(const sockaddr* address, socklen_t length) noexcept {
  std::memcpy(&storage_, address, std::min<std::size_t>(length, sizeof(storage_)));
}

socklen_t Address::length() const noexcept {
  return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

std::uint16_t Address::port() const noexcept {
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
}

void Address::set_port(std::uint16_t port) noexcept {
  if (family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&storage_)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(&storage_)->sin_port = htons(port);
  }
}

bool Address::is_loopback() const noexcept {
  if (family() == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr) >> 24) == 127;
  }
  if (family() != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

bool Address::is_any() const noexcept {
  if (family() == AF_INET) return reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr == INADDR_ANY;
  return family() == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr);
}

std::string Address::text() const {
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(get(), length(), host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) return "no address";
  return family() == AF_INET6 ? core::format("[{}]:{}", host.data(), port())
                              : core::format("{}:{}", host.data(), port());
}

Address::Wire Address::to_wire() const noexcept {
  Wire wire;
  wire.port = port();
  if (family() == AF_INET) {
    wire.family = 4;
    std::memcpy(wire.bytes.data(), &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, 4);
  } else if (family() == AF_INET6) {
    const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(&storage_);
    wire.family = 6;
    wire.scope = v6.sin6_scope_id;
    std::memcpy(wire.bytes.data(), &v6.sin6_addr, 16);
  }
  return wire;
}

std::optional<Address> Address::from_wire(const Wire& wire) noexcept {
  if (wire.port == 0) return std::nullopt;
  if (wire.family == 4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(wire.port);
    std::memcpy(&v4.sin_addr, wire.bytes.data(), 4);
    return Address(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  }
  if (wire.family == 6) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(wire.port);
    v6.sin6_scope_id = wire.scope;
    std::memcpy(&v6.sin6_addr, wire.bytes.data(), 16);
    return Address(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  }
  return std::nullopt;
}

Address::Wire Address::as_seen_from(const Address& near, Wire said) noexcept {
  const bool is_link_local = said.family == 6 && said.bytes[0] == 0xfe && (said.bytes[1] & 0xc0) == 0x80;  // fe80::/10
  said.scope = is_link_local ? near.to_wire().scope : 0;
  return said;
}

Address Address::local_of(int socket) noexcept {
  Address address;
  socklen_t length = sizeof(address.storage_);
  (void)getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage_), &length);
  return address;
}

Address Address::peer_of(int socket) noexcept {
  Address address;
  socklen_t length = sizeof(address.storage_);
  (void)getpeername(socket, reinterpret_cast<sockaddr*>(&address.storage_), &length);
  return address;
}

bool same_host(const Address& a, const Address& b) noexcept {
  const Address::Wire one = a.to_wire();
  const Address::Wire other = b.to_wire();
  return one.family == other.family && one.scope == other.scope && one.bytes == other.bytes;
}

Resolution resolve(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  Resolution result;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) {
    result.problem = error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error);
    result.may_change = error == EAI_AGAIN;
    return result;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
    result.addresses.emplace_back(entry->ai_addr, entry->ai_addrlen);
  }
  if (result.addresses.empty()) result.problem = "it has no internet address";
  return result;
}

}  // namespace cobre::comm::tcp
