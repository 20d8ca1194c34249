#include "ports.hpp"

#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <optional>
#include <utility>

namespace cobre::command {
namespace {

using comm::core::Descriptor;

constexpr unsigned lowest = 20'000;
constexpr unsigned port_count = 12'000;

// At every address of the family, whichever of them rank 0 will use. Nothing where somebody has it.
template <class Address>
std::optional<Descriptor> hold(int family, const Address& address) {
  Descriptor held(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!held) return Descriptor();  // this machine does not speak it
  const int yes = 1;
  if (family == AF_INET6) (void)setsockopt(held.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  if (bind(held.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return std::nullopt;
  // Not before: it has to be ours alone first. From here on who says the same may listen there, as rank 0 does.
  (void)setsockopt(held.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return held;
}

std::optional<std::array<Descriptor, 2>> hold(std::uint16_t port) {
  sockaddr_in old{};
  old.sin_family = AF_INET;
  old.sin_port = htons(port);
  sockaddr_in6 recent{};
  recent.sin6_family = AF_INET6;
  recent.sin6_port = htons(port);
  auto one = hold(AF_INET, old);
  auto other = one ? hold(AF_INET6, recent) : std::nullopt;
  if (!other) return std::nullopt;
  return std::array{*std::move(one), *std::move(other)};
}

}  // namespace

HeldPort::HeldPort() {
  unsigned start = 0;
  (void)!getrandom(&start, sizeof start, 0);
  for (unsigned step = 0; step <= port_count; ++step) {
    number_ = static_cast<std::uint16_t>(lowest + (start % port_count + step) % port_count);
    if (auto held = hold(number_)) {
      sockets_ = *std::move(held);
      return;
    }
  }
}

}  // namespace cobre::command
