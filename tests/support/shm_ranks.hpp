// Groups of shm ranks for tests.
#pragma once

#include <cobre/comm.hpp>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/outcome.hpp"
#include "support/processes.hpp"

namespace test {

using cobre::comm::ShmBackend;
using cobre::comm::ShmConfig;

inline ShmConfig shm_config(const std::string& name, std::size_t rank, std::size_t size) {
  ShmConfig config;
  config.name = name;
  config.rank = rank;
  config.size = size;
  return config;
}

/// Each rank a process that attaches as its configuration says.
inline std::vector<Process> start_ranks(const std::vector<ShmConfig>& configs,
                                        const std::function<std::string(const ShmBackend&)>& body) {
  return start_group(
      configs.size(), [&](std::size_t rank) { return ShmBackend::attach(configs[rank]); }, body);
}

inline std::vector<ShmConfig> shm_configs(std::size_t size, const std::function<void(ShmConfig&)>& change = {}) {
  std::vector<ShmConfig> configs;
  const std::string name = unique_name();
  for (std::size_t rank = 0; rank < size; ++rank) {
    configs.push_back(shm_config(name, rank, size));
    if (change) change(configs.back());
  }
  return configs;
}

/// Each rank a thread of this process.
inline void run_threads(const std::vector<ShmConfig>& configs, const std::function<void(const ShmBackend&)>& body) {
  std::vector<std::thread> threads;
  for (const ShmConfig& config : configs) {
    threads.emplace_back([&] {
      try {
        const ShmBackend comm = ShmBackend::attach(config);
        body(comm);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << config.rank << " threw: " << error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace test
