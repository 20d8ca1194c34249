// The same iteration as an experienced C programmer writes it: the calls of MPI, their results looked at.
#pragma once

#include <mpi.h>

#include <cstdlib>

#include "sddp_workspace.hpp"

namespace solver {

inline void checked(int code) {
  if (code != MPI_SUCCESS) std::abort();
}

inline void train_plain(MPI_Comm comm, Workspace& w) {
  const auto gather = [&](auto& part, MPI_Datatype type) {
    checked(MPI_Allgatherv(part.own.data(), static_cast<int>(part.own.size()), type, part.all.data(),
                           part.int_counts.data(), part.int_displs.data(), type, comm));
  };
  gather(w.costs, MPI_DOUBLE);
  checked(MPI_Allreduce(&w.workers, &w.fewest, 1, MPI_UINT64_T, MPI_MIN, comm));
  checked(MPI_Allreduce(&w.workers, &w.most, 1, MPI_UINT64_T, MPI_MAX, comm));
  const int capacity = static_cast<int>(w.shape.capacity);
  for (std::size_t stage = w.shape.stages - 1; stage > 0; --stage) {
    gather(w.states, MPI_DOUBLE);
    gather(w.cuts, MPI_BYTE);
    checked(MPI_Allreduce(w.binding.own.data(), w.binding.all.data(), capacity, MPI_UINT64_T, MPI_SUM, comm));
    checked(MPI_Allreduce(w.active.own.data(), w.active.all.data(), capacity, MPI_UINT32_T, MPI_BOR, comm));
    gather(w.statistics, MPI_DOUBLE);
  }
  checked(MPI_Bcast(&w.bound, 1, MPI_DOUBLE, 0, comm));
}

}  // namespace solver
