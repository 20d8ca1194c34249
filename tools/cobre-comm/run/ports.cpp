#include "ports.hpp"

#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "comm/core/descriptor.hpp"

namespace cobre::command {
namespace {

constexpr unsigned lowest = 20'000;
constexpr unsigned port_count = 12'000;

// At every address of the family, whichever of them rank 0 will use.
template <class Address>
bool is_free(int family, Address address) {
  const comm::core::Descriptor probe(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe) return true;  // this machine does not speak it
  const int alone = 1;
  if (family == AF_INET6) (void)setsockopt(probe.get(), IPPROTO_IPV6, IPV6_V6ONLY, &alone, sizeof alone);
  return bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool is_free(std::uint16_t port) {
  sockaddr_in old{};
  old.sin_family = AF_INET;
  old.sin_port = htons(port);
  sockaddr_in6 recent{};
  recent.sin6_family = AF_INET6;
  recent.sin6_port = htons(port);
  return is_free(AF_INET, old) && is_free(AF_INET6, recent);
}

}  // namespace

std::uint16_t free_port() {
  unsigned start = 0;
  (void)!getrandom(&start, sizeof start, 0);
  for (unsigned step = 0;; ++step) {
    const auto port = static_cast<std::uint16_t>(lowest + (start % port_count + step) % port_count);
    if (step == port_count || is_free(port)) return port;
  }
}

}  // namespace cobre::command
