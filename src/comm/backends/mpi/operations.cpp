// The collectives: after the checks above the gate, one call of MPI.

#include <cobre/comm/mpi.hpp>
#include <ferrompi/communicator.hpp>

#include <complex>
#include <concepts>
#include <string>

#include "comm/backends/mpi/canonical.hpp"
#include "comm/backends/mpi/errors.hpp"
#include "comm/backends/mpi/moving.hpp"
#include "comm/backends/mpi/perform.hpp"
#include "comm/backends/mpi/state.hpp"
#include "comm/backends/mpi/turns.hpp"
#include "comm/core/element_dispatch.hpp"
#include "comm/core/every_call.hpp"
#include "comm/core/moved_from.hpp"

namespace cobre::comm {
namespace {

using detail::MpiState;

// The elements that this rank passes or gets: what only pairs of ranks know, or is spared, stands in no record.
template <class Call>
std::size_t own_count(const MpiState& state, const detail::OperationRecord& record, const Call& call) {
  if constexpr (std::same_as<Call, detail::AllgathervCall>) {
    return call.counts[static_cast<std::size_t>(state.world.rank())];
  } else if constexpr (std::same_as<Call, detail::GatherCall> || std::same_as<Call, detail::ScatterCall>) {
    return call.count;
  } else if constexpr (std::same_as<Call, detail::AlltoallCall>) {
    std::size_t sent = 0;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(state.world.size()); ++rank) {
      sent += call.from.count(rank);
    }
    return sent;
  } else {
    return record.count;
  }
}

template <class Call>
mpi::CallFacts facts_of(const MpiState& state, const detail::OperationRecord& record, const Call& call) {
  const std::size_t count = own_count(state, record, call);
  return {state.where(to_string(record.operation)), record.root, count, count * record.element_size};
}

/// Out of line, so that it costs a branch where nobody asks for it. The others are shown what is spared elsewhere.
template <class Call>
[[gnu::noinline]] void compare_with_others(const MpiState& state, detail::OperationRecord record, const Call& call) {
  if constexpr (std::same_as<Call, detail::AllgathervCall>) {
    if (record.operation == detail::Operation::Allgatherv) record.count = detail::hash_counts(call.counts);
  }
  state.checker->compare(record, call);
}

// A callable takes the canonical way too: MPI would be free to group its arguments as it likes.
bool is_canonical(const detail::AllreduceCall& call) {
  return call.custom != nullptr || call.reproducible == Reproducible::Yes;
}

/// Calls `f(send, recv)` with typed spans; `sent` and `received` are their lengths.
template <class F>
void with_elements(const detail::AllreduceCall& call, std::size_t sent, std::size_t received, F&& f) {
  core::with_element_type(call.type, [&]<class T>() {
    f(std::span<const T>(static_cast<const T*>(call.send), sent), std::span<T>(static_cast<T*>(call.recv), received));
  });
}

void run(const MpiState& state, const detail::OperationRecord&, const detail::BarrierCall&) {
  if (mpi::in_turns()) return mpi::wait_in_turns(state.world.ibarrier());
  state.world.barrier();
}

void run(const MpiState& state, const detail::OperationRecord&, const detail::BroadcastCall& call) {
  mpi::with_moving_type(call.element_size, [&]<class T>(std::size_t) {
    const std::span<T> buffer(static_cast<T*>(call.buffer), call.bytes / sizeof(T));
    const int root = static_cast<int>(call.root);
    if (mpi::in_turns()) return mpi::wait_in_turns(state.world.ibroadcast(buffer, root));
    state.world.broadcast(buffer, root);
  });
}

void run(const MpiState& state, const detail::OperationRecord&, const detail::AllgathervCall& call) {
  mpi::gather_segments(state, call);
}
void run(const MpiState& state, const detail::OperationRecord&, const detail::GatherCall& call) {
  mpi::gather(state, call);
}
void run(const MpiState& state, const detail::OperationRecord&, const detail::ScatterCall& call) {
  mpi::scatter(state, call);
}
void run(const MpiState& state, const detail::OperationRecord&, const detail::AlltoallCall& call) {
  mpi::alltoall(state, call);
}

void run(const MpiState& state, const detail::OperationRecord&, const detail::AllreduceCall& call) {
  if (is_canonical(call)) return mpi::canonical_allreduce(state, call);
  with_elements(call, call.count, call.count, [&](auto send, auto recv) {
    if constexpr (ferrompi::allreduce_is_faster_again) {
      if (state.plans && !mpi::in_turns() && state.plans->allreduce(state.world, send.data(), recv, call.op)) return;
    }
    if (mpi::in_turns()) {
      mpi::wait_in_turns(call.in_place() ? state.world.iallreduce_inplace(recv, call.op)
                                         : state.world.iallreduce(send, recv, call.op));
    } else if (call.in_place()) {
      state.world.allreduce_inplace(recv, call.op);
    } else {
      state.world.allreduce(send, recv, call.op);
    }
  });
}
void run(const MpiState& state, const detail::OperationRecord&, const detail::ReduceCall& call) {
  if (is_canonical(call)) return mpi::canonical_reduce(state, call);
  with_elements(call, call.count, call.recv == nullptr ? 0 : call.count,
                [&](auto send, auto recv) { state.world.reduce(send, recv, call.op, static_cast<int>(call.root)); });
}
void run(const MpiState& state, const detail::OperationRecord&, const detail::ScanCall& call) {
  if (is_canonical(call)) return mpi::canonical_scan(state, call);
  with_elements(call, call.count, call.count, [&](auto send, auto recv) {
    if (call.exclusive) {
      state.world.exscan(send, recv, call.op);
    } else {
      state.world.scan(send, recv, call.op);
    }
  });
}
void run(const MpiState& state, const detail::OperationRecord&, const detail::ReduceScatterCall& call) {
  if (is_canonical(call)) return mpi::canonical_reduce_scatter(state, call);
  with_elements(call, call.count * static_cast<std::size_t>(state.world.size()), call.count,
                [&](auto send, auto recv) { state.world.reduce_scatter_block(send, recv, call.op); });
}

}  // namespace

template <class Call>
void FerrompiBackend::execute(const detail::OperationRecord& record, const Call& call) const {
  const MpiState& state = core::require_owned(state_, record);
  mpi::perform(
      *state.gate, [&] { return facts_of(state, record, call); },
      [&] {
        if (state.checker) [[unlikely]]
          compare_with_others(state, record, call);
        run(state, record, call);
      });
  if constexpr (std::derived_from<Call, detail::AllreduceCall>) {
    if (call.thrown != nullptr && *call.thrown) {
      state.gate->broken = std::string("a callable threw in ") + to_string(record.operation);
    }
  }
}

COBRE_COMM_COMPILE_EXECUTE(FerrompiBackend, const);

}  // namespace cobre::comm
