// Tests of what happens when things go wrong are written once and run on every backend whose ranks are processes.
#pragma once

#include <gtest/gtest.h>

#include <cobre/comm.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <ostream>
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

using Makers = std::vector<std::function<CommBackend()>>;
struct Backend {
  std::string name;
  Makers (*ranks)(std::size_t size, const Patience& patience);
  bool knows_how_processes_end;  // one machine: the kernel says by which signal, or with which code
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

inline std::vector<Backend> backends() {
  return {
#ifdef COBRE_COMM_HAS_SHM
      {"Shm", [](std::size_t size, const Patience& patience) { return makers(test::shm_configs(size), patience); },
       true},
#endif
#ifdef COBRE_COMM_HAS_TCP
      {"Tcp", [](std::size_t size, const Patience& patience) { return makers(test::tcp_configs(size), patience); },
       false},
#endif
  };
}

class OnBackends : public testing::TestWithParam<Backend> {
 protected:
  using Body = std::function<std::string(const CommBackend&)>;

  static std::vector<test::Process> start(std::size_t size, const Body& body, const Patience& patience = {}) {
    const Makers makers = GetParam().ranks(size, patience);
    return test::start_group(
        size, [&](std::size_t rank) { return makers[rank](); }, body);
  }

  /// What the others say of a rank that was killed, or has exited.
  static std::string killed(std::size_t rank) {
    return "PeerFailed " + std::to_string(rank) + (GetParam().knows_how_processes_end ? " signal 9" : "");
  }
  static std::string exited(std::size_t rank, int code) {
    return "PeerFailed " + std::to_string(rank) +
           (GetParam().knows_how_processes_end ? " exit " + std::to_string(code) : "");
  }
  static std::string left(std::size_t rank) { return "PeerFailed " + std::to_string(rank); }
};

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string name_of(const testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

}  // namespace fault
