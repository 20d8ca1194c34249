// A communicator of this library as the comparison calls it.
#pragma once

#include <cobre/comm.hpp>

#include <span>
#include <vector>

namespace bench {

template <class Comm>
struct OurRanks {
  const Comm& comm;
  int rank = static_cast<int>(comm.rank());
  int size = static_cast<int>(comm.size());
  std::vector<std::size_t> counts = std::vector<std::size_t>(comm.size());
  std::vector<std::size_t> displs = std::vector<std::size_t>(comm.size());

  explicit OurRanks(const Comm& communicator) : comm(communicator) {}

  void barrier() const { comm.barrier(); }
  void allreduce(const double* send, double* recv, std::size_t n) const {
    comm.allreduce(std::span(send, n), std::span(recv, n), cobre::comm::ReduceOp::Sum);
  }
  void broadcast(double* buffer, std::size_t n) const { comm.broadcast(std::span(buffer, n), 0); }
  void allgatherv(const double* send, double* recv, std::size_t each) {
    for (std::size_t r = 0; r < counts.size(); ++r) {
      counts[r] = each;
      displs[r] = r * each;
    }
    comm.allgatherv(std::span(send, each), std::span(recv, each * counts.size()), counts, displs);
  }
  double maximum(double value) const { return comm.allreduce(value, cobre::comm::ReduceOp::Max); }
};

}  // namespace bench
