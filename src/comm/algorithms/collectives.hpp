// The collectives, written once for every transport. Arguments arrive checked; all ranks pass the same operation.
//
//   Tuning tuning;
//   tuning.costs = calibrate(transport);      once, collectively, when the ranks have found each other
//   Scratch scratch;                          once for each communicator
//   allreduce(transport, call, tuning, scratch);
//
// After an exception out of one of these the ranks no longer agree on what comes next: the communicator is broken.
#pragma once

#include <cobre/comm/detail/collectives.hpp>

#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/transport.hpp"
#include "comm/algorithms/tuning.hpp"

namespace cobre::comm::algorithms {

/// Leaves allreduce on the rank whose callable threw, before anything that depends on its result is sent. The exception
/// of the callable waits in the call and is rethrown above the gate.
struct ReductionThrew {};

/// Collective. Returns once every rank has entered.
template <Transport T>
void barrier(T& transport);

/// Collective. Every rank gets the root's bytes. The root may return before the others have them.
template <Transport T>
void broadcast(T& transport, const detail::BroadcastCall& call, const Tuning& tuning);

/// Collective. Gives the canonical bits (see detail/fold.hpp) whatever the algorithm.
template <Transport T>
void allreduce(T& transport, const detail::AllreduceCall& call, const Tuning& tuning, Scratch& scratch);

/// Collective. Counts of zero, gaps and any order of displacements are legal.
template <Transport T>
void allgatherv(T& transport, const detail::AllgathervCall& call, const Tuning& tuning, Scratch& scratch);

/// Collective. Measures what messages, bytes and folding cost between the first two ranks, for about a millisecond, and
/// gives every rank the result of rank 0.
template <Transport T>
[[nodiscard]] Costs calibrate(T& transport);

}  // namespace cobre::comm::algorithms
