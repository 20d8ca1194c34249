// The iteration as the solver writes it, whatever the backend.
#pragma once

#include <cobre/comm/concepts.hpp>

#include "sddp_workspace.hpp"

namespace solver {

using cobre::comm::ReduceOp;

template <cobre::comm::Communicator C>
void train(const C& comm, Workspace& w) {
  const auto gather = [&](auto& part) { comm.allgatherv(part.own, part.all, part.counts, part.displs); };
  gather(w.costs);
  w.fewest = comm.allreduce(w.workers, ReduceOp::Min);
  w.most = comm.allreduce(w.workers, ReduceOp::Max);
  for (std::size_t stage = w.shape.stages - 1; stage > 0; --stage) {
    gather(w.states);
    gather(w.cuts);
    comm.allreduce(w.binding.own, w.binding.all, ReduceOp::Sum);
    comm.allreduce(w.active.own, w.active.all, ReduceOp::BitwiseOr);
    gather(w.statistics);
  }
  w.bound = comm.broadcast(w.bound, 0);
}

}  // namespace solver
