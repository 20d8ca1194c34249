// This library's side of the comparison: `bench_tcp <ranks> <effort> [operation [bytes]]`, all ranks on this machine.
// COBRE_TCP_SHARED_MEMORY=0 keeps them on TCP.

#include <cobre/comm.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "measure.hpp"
#include "our_ranks.hpp"
#include "processes.hpp"

namespace {

using cobre::comm::TcpBackend;
using cobre::comm::TcpConfig;

// A port that was free a moment ago.
std::uint16_t free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(listener, any, length) == 0 && getsockname(listener, any, &length) == 0;
  close(listener);
  if (!bound) std::exit(1);
  return ntohs(address.sin_port);
}

int run_rank(const TcpConfig& config, int argc, char** argv) {
  bench::pin(static_cast<int>(config.rank), static_cast<int>(config.size));
  const TcpBackend comm = TcpBackend::connect(config);
  bench::OurRanks<TcpBackend> ranks(comm);
  return bench::compare(ranks, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  TcpConfig config;
  config.coordinator = "127.0.0.1";
  config.port = free_port();
  config.size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2;
  const char* const wish = std::getenv("COBRE_TCP_SHARED_MEMORY");
  config.shared_memory = wish == nullptr || std::strcmp(wish, "0") != 0;
  return bench::run_ranks(config.size, [&](std::size_t rank) {
    config.rank = rank;
    return run_rank(config, argc - 1, argv + 1);
  });
}
