// Groups of tcp ranks for tests.
#pragma once

#include <cobre/comm.hpp>
#include <cobre/comm/detail/operation.hpp>

#include <sched.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/outcome.hpp"
#include "support/processes.hpp"

namespace test {

using cobre::comm::TcpBackend;
using cobre::comm::TcpConfig;

/// A loopback address that no other group on this machine uses: there are sixteen million of them.
inline std::string loopback_of(const std::string& group) {
  const auto mixed = cobre::comm::detail::mix(std::hash<std::string>()(group));
  return "127." + std::to_string(1 + mixed % 254) + "." + std::to_string(mixed / 256 % 256) + "." +
         std::to_string(1 + mixed / 65536 % 254);
}

inline TcpConfig tcp_config(const std::string& group, std::size_t rank, std::size_t size) {
  TcpConfig config;
  config.coordinator = loopback_of(group);
  config.rank = rank;
  config.size = size;
  config.secret.value = "the secret of " + group;
  config.shared_memory = false;
  return config;
}

inline std::vector<TcpConfig> tcp_configs(std::size_t size, const std::function<void(TcpConfig&)>& change = {}) {
  std::vector<TcpConfig> configs;
  const std::string group = unique_name();
  for (std::size_t rank = 0; rank < size; ++rank) {
    configs.push_back(tcp_config(group, rank, size));
    if (change) change(configs.back());
  }
  return configs;
}

/// From here on this process is on a host of that name: to tcp, a name of its own makes a host. Needs root.
inline void enter_host(const std::string& name) {
  if (unshare(CLONE_NEWUTS) != 0 || sethostname(name.c_str(), name.size()) != 0) {
    throw std::runtime_error("cannot be on host " + name + ": that needs root");
  }
}

/// Each rank a process that connects as its configuration says.
inline std::vector<Process> start_ranks(const std::vector<TcpConfig>& configs,
                                        const std::function<std::string(const TcpBackend&)>& body) {
  return start_group(
      configs.size(), [&](std::size_t rank) { return TcpBackend::connect(configs[rank]); }, body);
}

/// Each rank a process that only tries to connect: what came of it.
inline std::vector<Process> start_connecting(const std::vector<TcpConfig>& configs) {
  std::vector<Process> ranks;
  for (const TcpConfig& config : configs) {
    ranks.emplace_back([&]() -> std::string {
      try {
        const TcpBackend comm = TcpBackend::connect(config);
        comm.barrier();
        return "fine";
      } catch (const std::exception& error) {
        return error.what();
      }
    });
  }
  return ranks;
}

}  // namespace test
