// The wire as the collectives of `algorithms` see it where one rank of each host speaks for it.
#pragma once

#include <cstddef>
#include <span>

#include "comm/algorithms/transport.hpp"
#include "comm/backends/tcp/hosts.hpp"
#include "comm/backends/tcp/wire.hpp"

namespace cobre::comm::tcp {

static_assert(algorithms::Transport<Wire>);  // all ranks

/// The first rank of each host, numbered as the hosts are. For such ranks only.
class Leaders {
 public:
  Leaders(Wire& wire, const Hosts& hosts) noexcept : wire_(wire), hosts_(hosts) {}

  [[nodiscard]] std::size_t rank() const noexcept { return hosts_.own; }
  [[nodiscard]] std::size_t size() const noexcept { return hosts_.list.size(); }
  void send(std::size_t peer, const void* data, std::size_t bytes) { wire_.send(of(peer), data, bytes); }
  void recv(std::size_t peer, void* data, std::size_t bytes) { wire_.recv(of(peer), data, bytes); }
  void exchange(std::size_t to, const void* out, std::size_t out_bytes, std::size_t from, void* in,
                std::size_t in_bytes) {
    wire_.exchange(of(to), out, out_bytes, of(from), in, in_bytes);
  }

 private:
  [[nodiscard]] std::size_t of(std::size_t host) const noexcept { return hosts_.list[host].ranks.front(); }

  Wire& wire_;
  const Hosts& hosts_;
};

static_assert(algorithms::Transport<Leaders>);

}  // namespace cobre::comm::tcp
