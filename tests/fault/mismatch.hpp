// The backends that find out where ranks call different things, and what is expected of them.
#pragma once

#include <gtest/gtest.h>

#include <cobre/comm.hpp>

#include <functional>
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

namespace mismatch {

using cobre::comm::CommBackend;
using Call = std::function<void(const CommBackend&)>;

struct Backend {
  std::string name;
  std::vector<std::function<CommBackend()>> (*ranks)(std::size_t size);
};
inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}

template <class Config>
std::vector<std::function<CommBackend()>> makers(const std::vector<Config>& configs) {
  std::vector<std::function<CommBackend()>> ranks;
  for (const Config& config : configs) {
    ranks.emplace_back([config] { return cobre::comm::create_communicator(config); });
  }
  return ranks;
}

inline std::vector<Backend> backends() {
  return {
#ifdef COBRE_COMM_HAS_SHM
      {"Shm", [](std::size_t size) { return makers(test::shm_configs(size)); }},
#endif
#ifdef COBRE_COMM_HAS_TCP
      {"Tcp", [](std::size_t size) { return makers(test::tcp_configs(size)); }},
#endif
  };
}

class OnEveryBackend : public testing::TestWithParam<Backend> {
 protected:
  static std::vector<test::Process> start(std::size_t size,
                                          const std::function<std::string(const CommBackend&)>& body) {
    std::vector<test::Process> processes;
    for (const auto& make : GetParam().ranks(size)) {
      processes.emplace_back([&] {
        const CommBackend comm = make();
        return body(comm);
      });
    }
    return processes;
  }

  // All ranks do `usual` but `odd_one`; every one of them must say the same.
  static void expect_mismatch(std::size_t size, std::size_t odd_one, const Call& usual, const Call& odd,
                              const std::string& expected) {
    auto ranks = start(size, [&](const CommBackend& comm) -> std::string {
      for (int i = 0; i < 5; ++i) comm.barrier();
      const std::string first = test::outcome_of([&] {
        (comm.rank() == odd_one ? odd : usual)(comm);
        comm.barrier();  // what a rank that only sends cannot be told at once, the next synchronising call does
      });
      return first + "; " + test::outcome_of([&] { comm.barrier(); });
    });
    for (std::size_t rank = 0; rank < size; ++rank) {
      EXPECT_EQ(ranks[rank].words(), "CollectiveMismatch " + expected + "; InvalidCommunicator")
          << "rank " << rank << " of " << size;
    }
  }
};

}  // namespace mismatch
