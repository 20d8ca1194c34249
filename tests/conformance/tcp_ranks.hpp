// The ranks of tcp for the suite: from rank to rank over sockets, and sharing the memory of their host.
#pragma once

#include <cobre/comm.hpp>

#include <string>

#include "support/tcp_ranks.hpp"

namespace conformance {

using cobre::comm::CommBackend;

struct TcpRanks {
  using Communicator = CommBackend;
  static Communicator make(std::size_t rank, std::size_t size, const std::string& group) {
    return cobre::comm::create_communicator(test::tcp_config(group, rank, size));
  }
};

struct TcpRanksSharingMemory {
  using Communicator = CommBackend;
  static Communicator make(std::size_t rank, std::size_t size, const std::string& group) {
    auto config = test::tcp_config(group, rank, size);
    config.shared_memory = true;
    return cobre::comm::create_communicator(config);
  }
};

}  // namespace conformance
