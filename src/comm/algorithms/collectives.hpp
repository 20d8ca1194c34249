// The collectives, written once for every transport. Arguments arrive checked; all ranks pass the same operation.
//
//   Tuning tuning;
//   tuning.costs = calibrate(transport);      once, collectively, when the ranks have found each other
//   Scratch scratch;                          once for each communicator
//   allreduce(transport, call, tuning, scratch);
//
// After an exception out of one of these the ranks no longer agree on what comes next: the communicator is broken.
// ReductionThrew (reduction.hpp) leaves a reduction on a rank whose callable threw.
#pragma once

#include <cobre/comm/detail/collectives.hpp>

#include <algorithm>
#include <cstring>

#include "comm/algorithms/allgatherv_bruck.hpp"
#include "comm/algorithms/allgatherv_ring.hpp"
#include "comm/algorithms/allreduce_gather_and_fold.hpp"
#include "comm/algorithms/allreduce_pairwise.hpp"
#include "comm/algorithms/allreduce_rabenseifner.hpp"
#include "comm/algorithms/allreduce_recursive_doubling.hpp"
#include "comm/algorithms/allreduce_ring.hpp"
#include "comm/algorithms/alltoall_pairwise.hpp"
#include "comm/algorithms/barrier_dissemination.hpp"
#include "comm/algorithms/broadcast_binomial.hpp"
#include "comm/algorithms/broadcast_chain.hpp"
#include "comm/algorithms/broadcast_scatter_allgather.hpp"
#include "comm/algorithms/calibrate.hpp"
#include "comm/algorithms/gather_binomial.hpp"
#include "comm/algorithms/gather_linear.hpp"
#include "comm/algorithms/reduce_pairwise.hpp"
#include "comm/algorithms/reduce_scatter_pairwise.hpp"
#include "comm/algorithms/reduce_scatter_tree.hpp"
#include "comm/algorithms/reduce_tree.hpp"
#include "comm/algorithms/scan_chain.hpp"
#include "comm/algorithms/scan_recursive_doubling.hpp"
#include "comm/algorithms/scatter_binomial.hpp"
#include "comm/algorithms/scatter_linear.hpp"
#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/transport.hpp"
#include "comm/algorithms/tuning.hpp"

namespace cobre::comm::algorithms {

/// Collective. Returns once every rank has entered.
template <Transport T>
void barrier(T& transport) {
  barrier_dissemination(transport);
}

/// Collective. Every rank gets the root's bytes. The root may return before the others have them.
template <Transport T>
void broadcast(T& transport, const detail::BroadcastCall& call, const Tuning& tuning) {
  const std::size_t ranks = transport.size();
  if (ranks == 1) return;
  auto* const data = static_cast<std::byte*>(call.buffer);
  switch (choose_broadcast(ranks, call.bytes, tuning)) {
    case BroadcastAlgorithm::Binomial: return broadcast_binomial(transport, data, call.bytes, call.root);
    case BroadcastAlgorithm::ScatterAllgather:
      return broadcast_scatter_allgather(transport, data, call.bytes, call.root);
    case BroadcastAlgorithm::Chain:
      return broadcast_chain(transport, data, call.bytes, call.root, chain_piece_bytes(ranks, call.bytes, tuning));
  }
}

/// Collective. Gives the canonical bits (see detail/fold.hpp) whatever the algorithm.
template <Transport T>
void allreduce(T& transport, const detail::AllreduceCall& call, const Tuning& tuning, Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t bytes = call.count * call.element_size;
  if (ranks == 1) {
    if (!call.in_place() && bytes > 0) std::memcpy(call.recv, call.send, bytes);
    return;
  }
  if (call.count == 0) return barrier(transport);  // nobody leaves before everyone has come
  const Reduction reduction(call);
  const bool exact = call.custom == nullptr && is_exact(call.op, call.type);
  const std::size_t piece = reduction_piece_bytes(ranks, tuning);
  switch (choose_allreduce(ranks, bytes, exact, tuning)) {
    case AllreduceAlgorithm::RecursiveDoubling:
      return allreduce_recursive_doubling(transport, reduction, piece, scratch);
    case AllreduceAlgorithm::GatherAndFold: return allreduce_gather_and_fold(transport, reduction, piece, scratch);
    case AllreduceAlgorithm::Rabenseifner: return allreduce_rabenseifner(transport, reduction, piece, scratch);
    case AllreduceAlgorithm::Pairwise: return allreduce_pairwise(transport, reduction, piece, scratch);
    case AllreduceAlgorithm::Ring: return allreduce_ring(transport, reduction, piece, scratch);
  }
}

/// Collective. Counts of zero, gaps and any order of displacements are legal.
template <Transport T>
void allgatherv(T& transport, const detail::AllgathervCall& call, const Tuning& tuning, Scratch& scratch) {
  const std::size_t ranks = transport.size();
  std::size_t total = 0;
  std::size_t longest = 0;
  for (const std::size_t count : call.counts) {
    total += count * call.element_size;
    longest = std::max(longest, count * call.element_size);
  }
  switch (choose_allgatherv(ranks, total, tuning)) {
    case AllgathervAlgorithm::Bruck: return allgatherv_bruck(transport, call, scratch);
    case AllgathervAlgorithm::Ring: {
      // Blocks of about equal length go whole: every link is busy all the time anyway.
      const bool cut = tuning.piece_bytes.has_value() || longest > 2 * (total / ranks);
      return allgatherv_ring(transport, call, cut ? reduction_piece_bytes(ranks, tuning) : whole_blocks);
    }
  }
}

/// Collective. Who sends may return before the root has received.
template <Transport T>
void gather(T& transport, const detail::GatherCall& call, const Tuning& tuning, Scratch& scratch) {
  const bool linear = !call.parts.uniform() || choose_rooted(transport.size(), call.count * call.element_size,
                                                             tuning) == RootedAlgorithm::Linear;
  return linear ? gather_linear(transport, call) : gather_binomial(transport, call, scratch);
}

/// Collective. The root may return before the others have their parts.
template <Transport T>
void scatter(T& transport, const detail::ScatterCall& call, const Tuning& tuning, Scratch& scratch) {
  const bool linear = !call.parts.uniform() || choose_rooted(transport.size(), call.count * call.element_size,
                                                             tuning) == RootedAlgorithm::Linear;
  return linear ? scatter_linear(transport, call) : scatter_binomial(transport, call, scratch);
}

/// Collective.
template <Transport T>
void alltoall(T& transport, const detail::AlltoallCall& call) {
  alltoall_pairwise(transport, call);
}

/// Collective. Gives the canonical bits, as all reductions here do.
template <Transport T>
void reduce(T& transport, const detail::ReduceCall& call, const Tuning& tuning, Scratch& scratch) {
  const std::size_t ranks = transport.size();
  if (ranks == 1) return allreduce(transport, call, tuning, scratch);
  if (call.count == 0) return barrier(transport);
  const Reduction reduction(call);
  const std::size_t piece = reduction_piece_bytes(ranks, tuning);
  switch (choose_reduce(ranks, call.count * call.element_size, tuning)) {
    case ReduceAlgorithm::Tree: return reduce_tree(transport, reduction, call.root, piece, scratch);
    case ReduceAlgorithm::Pairwise: return reduce_pairwise(transport, reduction, call.root, piece, scratch);
  }
}

/// Collective.
template <Transport T>
void scan(T& transport, const detail::ScanCall& call, const Tuning& tuning, Scratch& scratch) {
  if (call.count == 0) return barrier(transport);
  const Reduction reduction(call);
  const std::size_t piece = reduction_piece_bytes(transport.size(), tuning);
  switch (choose_scan(transport.size(), call.count * call.element_size, tuning)) {
    case ScanAlgorithm::RecursiveDoubling:
      return scan_recursive_doubling(transport, reduction, call.exclusive, piece, scratch);
    case ScanAlgorithm::Chain: return scan_chain(transport, reduction, call.exclusive, piece, scratch);
  }
}

/// Collective.
template <Transport T>
void reduce_scatter(T& transport, const detail::ReduceScatterCall& call, const Tuning& tuning, Scratch& scratch) {
  if (call.count == 0) return barrier(transport);
  const Reduction reduction(call);
  const std::size_t ranks = transport.size();
  switch (choose_reduce_scatter(ranks, ranks * call.count * call.element_size, tuning)) {
    case ReduceScatterAlgorithm::Pairwise:
      return reduce_scatter_pairwise(transport, reduction, reduction_piece_bytes(ranks, tuning), scratch);
    case ReduceScatterAlgorithm::Tree: return reduce_scatter_tree(transport, reduction, scratch);
  }
}

}  // namespace cobre::comm::algorithms
