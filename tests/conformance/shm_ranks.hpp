// The ranks of shm for the suite: as they come, through shared buffers alone, and straight from buffer to buffer.
#pragma once

#include <cobre/comm.hpp>

#include <string>

namespace conformance {

using cobre::comm::CommBackend;
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
  using Communicator = CommBackend;
  static Communicator make(std::size_t rank, std::size_t size, const std::string& group) {
    return cobre::comm::create_communicator(config(rank, size, group));
  }
};

// Everything through shared buffers, and those small, so that even these messages go round them many times.
struct ShmRanksThroughBuffers {
  using Communicator = CommBackend;
  static Communicator make(std::size_t rank, std::size_t size, const std::string& group) {
    ShmConfig small = config(rank, size, group);
    small.single_copy = SingleCopy::Off;
    small.segment_bytes = size * (std::size_t{96} << 10);
    small.tuning.one_shot_bytes = 1000;
    small.tuning.exposed_bytes = 4000;
    return cobre::comm::create_communicator(small);
  }
};

// Straight from buffer to buffer, reductions included, as early as possible and in small pieces.
struct ShmRanksFromBufferToBuffer {
  using Communicator = CommBackend;
  static Communicator make(std::size_t rank, std::size_t size, const std::string& group) {
    ShmConfig direct = config(rank, size, group);
    direct.widen_ptrace = true;
    direct.tuning = {.one_shot_bytes = 0, .exposed_bytes = 0, .piece_bytes = 4096};
    return cobre::comm::create_communicator(direct);
  }
};

}  // namespace conformance
