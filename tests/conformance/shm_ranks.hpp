// The ranks of shm for the suite: with single copy and without, and behind the type that holds any backend.
#pragma once

#include <cobre/comm.hpp>

#include <string>

namespace conformance {

using cobre::comm::CommBackend;
using cobre::comm::ShmBackend;
using cobre::comm::ShmConfig;
using cobre::comm::SingleCopy;

inline ShmConfig config(std::size_t rank, std::size_t size, const std::string& group) {
  ShmConfig config;
  config.name = group;
  config.rank = rank;
  config.size = size;
  return config;
}

struct ShmRanks {
  using Communicator = ShmBackend;
  static Communicator make(std::size_t rank, std::size_t size, const std::string& group) {
    return ShmBackend::attach(config(rank, size, group));
  }
};

// Everything through shared buffers, and those small, so that even these messages go round them many times.
struct ShmRanksThroughBuffers {
  using Communicator = ShmBackend;
  static Communicator make(std::size_t rank, std::size_t size, const std::string& group) {
    ShmConfig small = config(rank, size, group);
    small.single_copy = SingleCopy::Off;
    small.segment_bytes = size * (std::size_t{96} << 10);
    small.tuning.one_shot_bytes = 1000;
    small.tuning.exposed_bytes = 4000;
    return ShmBackend::attach(small);
  }
};

struct AnyShmRanks {
  using Communicator = CommBackend;
  static Communicator make(std::size_t rank, std::size_t size, const std::string& group) {
    return cobre::comm::create_communicator(config(rank, size, group));
  }
};

}  // namespace conformance
