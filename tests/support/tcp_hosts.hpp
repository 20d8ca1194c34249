// Groups of tcp ranks on hosts of a test.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "support/network.hpp"
#include "support/tcp_ranks.hpp"

namespace test {

/// Rank i on host `host_of[i]`, sharing memory where they share a host.
inline std::vector<Process> start_on(const Network& network, const std::vector<std::size_t>& host_of,
                                     const std::function<std::string(const TcpBackend&)>& body,
                                     const std::function<void(TcpConfig&)>& change = {}) {
  const auto configs = tcp_configs(host_of.size(), [&](TcpConfig& config) {
    config.coordinator = Network::address(host_of[0]);
    config.shared_memory = true;
    if (change) change(config);
  });
  const auto connect = [&](std::size_t rank) {
    network.enter(host_of[rank]);
    return TcpBackend::connect(configs[rank]);
  };
  return start_group(configs.size(), connect, body);
}

}  // namespace test
