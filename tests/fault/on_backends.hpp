// Tests of what happens when things go wrong are written once and run on every backend whose ranks are processes.
#pragma once

#include <gtest/gtest.h>

#include <cobre/comm.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <ostream>
#include <regex>
#include <string>
#include <vector>

#include "support/outcome.hpp"
#include "support/processes.hpp"
#ifdef COBRE_COMM_HAS_SHM
#include "support/shm_ranks.hpp"
#endif
#ifdef COBRE_COMM_HAS_TCP
#include "support/tcp_ranks.hpp"
#endif

namespace fault {

using cobre::comm::CommBackend;

/// What the configurations of all backends have in common.
struct Patience {
  std::chrono::milliseconds timeout{0};
  std::chrono::milliseconds warn_after{10'000};
  std::chrono::milliseconds connect_timeout{30'000};
};

/// By which signal or with which code a process ended: the memory of a machine knows, a connection does not. Where a
/// rank has both, it is told by whichever is first.
enum class Endings { Known, Unknown, KnownToSome };

using Makers = std::vector<std::function<CommBackend()>>;
struct Backend {
  std::string name;
  Makers (*ranks)(std::size_t size, const Patience& patience);
  Endings endings;
  bool regions_are_shared = true;
};
inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}

template <class Config>
Makers makers(std::vector<Config> configs, const Patience& patience) {
  Makers ranks;
  for (Config& config : configs) {
    config.timeout = patience.timeout;
    config.warn_after = patience.warn_after;
    config.connect_timeout = patience.connect_timeout;
    ranks.emplace_back([config] { return cobre::comm::create_communicator(config); });
  }
  return ranks;
}

#if defined(COBRE_COMM_HAS_TCP) && defined(COBRE_COMM_HAS_SHM)
inline Makers tcp_ranks_sharing_memory(std::size_t size, const Patience& patience) {
  return makers(test::tcp_configs(size, [](auto& config) { config.shared_memory = true; }), patience);
}

/// The first half of the ranks on one host, the others on another.
inline Makers tcp_ranks_on_two_hosts(std::size_t size, const Patience& patience) {
  Makers ranks = tcp_ranks_sharing_memory(size, patience);
  for (std::size_t rank = 0; rank < size; ++rank) {
    ranks[rank] = [connect = ranks[rank], host = rank * 2 < size ? "first" : "second"] {
      test::enter_host(host);
      return connect();
    };
  }
  return ranks;
}
#endif

inline std::vector<Backend> backends() {
  return {
#ifdef COBRE_COMM_HAS_SHM
    {"Shm", [](std::size_t size, const Patience& patience) { return makers(test::shm_configs(size), patience); },
     Endings::Known},
#endif
#ifdef COBRE_COMM_HAS_TCP
        {"Tcp", [](std::size_t size, const Patience& patience) { return makers(test::tcp_configs(size), patience); },
         Endings::Unknown, false},
#endif
#if defined(COBRE_COMM_HAS_TCP) && defined(COBRE_COMM_HAS_SHM)
        {"TcpSharingMemory", tcp_ranks_sharing_memory, Endings::KnownToSome},
#endif
  };
}

/// And where some ranks share memory and others do not.
inline std::vector<Backend> layouts() {
  auto all = backends();
#if defined(COBRE_COMM_HAS_TCP) && defined(COBRE_COMM_HAS_SHM)
  all.push_back({"TcpOnTwoHosts", tcp_ranks_on_two_hosts, Endings::KnownToSome});
#endif
  return all;
}

class OnBackends : public testing::TestWithParam<Backend> {
 protected:
  using Body = std::function<std::string(const CommBackend&)>;

  static std::vector<test::Process> start(std::size_t size, const Body& body, const Patience& patience = {}) {
    const Makers makers = GetParam().ranks(size, patience);
    const bool some_know = GetParam().endings == Endings::KnownToSome;
    return test::start_group(
        size, [&](std::size_t rank) { return makers[rank](); },
        [&](const CommBackend& comm) { return some_know ? without_endings(body(comm)) : body(comm); });
  }

  /// What the others say of a rank that was killed, or has exited.
  static std::string killed(std::size_t rank) {
    return left(rank) + (GetParam().endings == Endings::Known ? " signal 9" : "");
  }
  static std::string exited(std::size_t rank, int code) {
    return left(rank) + (GetParam().endings == Endings::Known ? " exit " + std::to_string(code) : "");
  }
  static std::string left(std::size_t rank) { return "PeerFailed " + std::to_string(rank); }

 private:
  static std::string without_endings(const std::string& words) {
    return std::regex_replace(words, std::regex("(PeerFailed [0-9]+) (signal|exit) [0-9]+"), "$1");
  }
};

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string name_of(const testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

}  // namespace fault
