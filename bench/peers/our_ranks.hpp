// A communicator of this library as the comparison calls it.
#pragma once

#include <cobre/comm.hpp>

#include "collectives.hpp"

namespace bench {

template <class Comm>
struct OurRanks {
  const Comm& comm;
  int rank = static_cast<int>(comm.rank());
  int size = static_cast<int>(comm.size());

  explicit OurRanks(const Comm& communicator) : comm(communicator) {}

  void barrier() const { comm.barrier(); }
  void allreduce(std::span<const double> send, std::span<double> recv) const {
    comm.allreduce(send, recv, cobre::comm::ReduceOp::Sum);
  }
  void broadcast(std::span<double> buffer) const { comm.broadcast(buffer, 0); }
  void allgatherv(std::span<const double> send, std::span<double> recv, const Parts& parts) const {
    comm.allgatherv(send, recv, parts.counts, parts.displs);
  }
  void slowest(std::span<double> times) const { comm.allreduce_inplace(times, cobre::comm::ReduceOp::Max); }
};

}  // namespace bench
