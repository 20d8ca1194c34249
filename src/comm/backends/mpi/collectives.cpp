// The collectives: after the checks above the gate, one call of MPI.

#include <cobre/comm/mpi.hpp>
#include <ferrompi/communicator.hpp>

#include <complex>

#include "comm/backends/mpi/canonical.hpp"
#include "comm/backends/mpi/errors.hpp"
#include "comm/backends/mpi/moving.hpp"
#include "comm/backends/mpi/state.hpp"
#include "comm/core/element_dispatch.hpp"

namespace cobre::comm {
namespace {

using detail::MpiState;

mpi::CallFacts facts_of(const MpiState& state, const detail::OperationRecord& record) {
  return {state.where(to_string(record.operation)), record.root, record.count, record.count * record.element_size};
}

/// Runs one operation: refused where the communicator is broken, compared with the other ranks where that is asked for,
/// and what MPI throws is translated and remembered.
template <class Body>
void perform(const MpiState& state, const detail::OperationRecord& record, Body&& body) {
  if (!state.broken.empty()) [[unlikely]] {
    throw InvalidCommunicator(state.where(to_string(record.operation)), state.broken);
  }
  if (!ferrompi::Mpi::is_running()) [[unlikely]] {
    throw InvalidCommunicator(state.where(to_string(record.operation)), "MPI was finalized");
  }
  try {
    if (state.checker) state.checker->compare(record);
    body();
  } catch (const ferrompi::Error& error) {
    state.broken = error.what();
    mpi::throw_counterpart(facts_of(state, record), error);
  } catch (const CommError& error) {
    state.broken = error.what();
    throw;
  }
}

void reduce_as_mpi_does(const MpiState& state, const detail::AllreduceCall& call) {
  core::with_element_type(call.type, [&]<class T>() {
    const std::span<T> recv(static_cast<T*>(call.recv), call.count);
    if (call.in_place()) {
      state.world.allreduce_inplace(recv, call.op);
    } else {
      state.world.allreduce(std::span<const T>(static_cast<const T*>(call.send), call.count), recv, call.op);
    }
  });
}

}  // namespace

void FerrompiBackend::execute(const detail::OperationRecord& record, const detail::BarrierCall&) const {
  perform(*state_, record, [&] { state_->world.barrier(); });
}

void FerrompiBackend::execute(const detail::OperationRecord& record, const detail::BroadcastCall& call) const {
  perform(*state_, record, [&] {
    mpi::with_moving_type(record.element_size, [&]<class T>(std::size_t scale) {
      state_->world.broadcast(std::span<T>(static_cast<T*>(call.buffer), record.count * scale),
                              static_cast<int>(call.root));
    });
  });
}

void FerrompiBackend::execute(const detail::OperationRecord& record, const detail::AllreduceCall& call) const {
  perform(*state_, record, [&] {
    // A callable takes the canonical way too: MPI would be free to group its arguments as it likes.
    if (call.custom != nullptr || call.reproducible == Reproducible::Yes) {
      mpi::canonical_allreduce(*state_, call);
    } else {
      reduce_as_mpi_does(*state_, call);
    }
  });
  if (call.thrown != nullptr && *call.thrown) state_->broken = "a callable threw in allreduce";
}

void FerrompiBackend::execute(const detail::OperationRecord& record, const detail::AllgathervCall& call) const {
  perform(*state_, record, [&] { mpi::gather_segments(*state_, call); });
}

}  // namespace cobre::comm
