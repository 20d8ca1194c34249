// How long sixteen ranks on one machine need to come together, with its memory between them and over sockets alone.

#include <cobre/comm.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "startup.hpp"

namespace {

// One that was free a moment ago.
std::optional<std::uint16_t> free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  const bool found = bind(probe, plain, length) == 0 && getsockname(probe, plain, &length) == 0;
  close(probe);
  return found ? std::optional(ntohs(address.sin_port)) : std::nullopt;
}

}  // namespace

int main() {
  constexpr std::size_t size = 16;
  const auto port = free_port();
  if (!port) return 1;
  const auto report = [&](const char* what, bool shared_memory) {
    return bench::report_startup<size>(what, 200, [&](int, std::size_t rank) {
      cobre::comm::TcpConfig config;
      config.coordinator = "127.0.0.1";
      config.port = *port;
      config.rank = rank;
      config.size = size;
      config.shared_memory = shared_memory;
      return cobre::comm::TcpBackend::connect(config);
    });
  };
  const bool with_memory = report("tcp", true);
  return report("tcp, sockets alone", false) && with_memory ? 0 : 1;
}
