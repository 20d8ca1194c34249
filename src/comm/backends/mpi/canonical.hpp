// The canonical reduction over MPI.
#pragma once

#include <cobre/comm/detail/collectives.hpp>

namespace cobre::comm::detail {
struct MpiState;
}

namespace cobre::comm::mpi {

/// The bits that shm and tcp give, whatever the MPI library would do: MPI only moves the contributions, and the fold
/// of layer 2 combines them.
void canonical_allreduce(const detail::MpiState& state, const detail::AllreduceCall& call);
void canonical_reduce(const detail::MpiState& state, const detail::ReduceCall& call);
void canonical_scan(const detail::MpiState& state, const detail::ScanCall& call);
void canonical_reduce_scatter(const detail::MpiState& state, const detail::ReduceScatterCall& call);

}  // namespace cobre::comm::mpi
