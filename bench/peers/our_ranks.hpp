// A communicator of this library as the comparison calls it.
#pragma once

#include <cobre/comm.hpp>

#include <optional>

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
  void reduce(std::span<const double> send, std::span<double> recv) const {
    comm.reduce(send, recv, cobre::comm::ReduceOp::Sum, 0);
  }
  void scan(std::span<const double> send, std::span<double> recv) const {
    comm.scan(send, recv, cobre::comm::ReduceOp::Sum);
  }
  void exscan(std::span<const double> send, std::span<double> recv) const {
    comm.exscan(send, recv, cobre::comm::ReduceOp::Sum);
  }
  void reduce_scatter_block(std::span<const double> send, std::span<double> recv) const {
    comm.reduce_scatter_block(send, recv, cobre::comm::ReduceOp::Sum);
  }
  void gather(std::span<const double> send, std::span<double> recv) const { comm.gather(send, recv, 0); }
  void scatter(std::span<const double> send, std::span<double> recv) const { comm.scatter(send, recv, 0); }
  void allgather(std::span<const double> send, std::span<double> recv) const { comm.allgather(send, recv); }
  void alltoall(std::span<const double> send, std::span<double> recv) const { comm.alltoall(send, recv); }
  void gatherv(std::span<const double> send, std::span<double> recv, const Parts& parts) const {
    comm.gatherv(send, recv, parts.counts, parts.displs, 0);
  }
  void scatterv(std::span<const double> send, std::span<double> recv, const Parts& parts) const {
    comm.scatterv(send, parts.counts, parts.displs, recv, 0);
  }
  void alltoallv(std::span<const double> send, std::span<double> recv, const Parts& parts) const {
    comm.alltoallv(send, parts.counts, parts.displs, recv, parts.counts, parts.displs);
  }
  void send(std::span<const double> data, int to) { partner(to).send(data); }
  void recv(std::span<double> data, int from) { partner(from).recv(data); }
  void slowest(std::span<double> times) const { comm.allreduce_inplace(times, cobre::comm::ReduceOp::Max); }

 private:
  auto& partner(int other) {
    if (!channel_) channel_.emplace(comm.channel(static_cast<std::size_t>(other), 0));
    return *channel_;
  }
  std::optional<decltype(comm.channel(0, 0))> channel_;
};

}  // namespace bench
