// The frame around every operation on a communicator.
#pragma once

#include <cobre/comm/errors.hpp>
#include <ferrompi/environment.hpp>
#include <ferrompi/error.hpp>

#include <atomic>
#include <exception>
#include <string>

#include "comm/backends/mpi/errors.hpp"
#include "comm/core/exclusive.hpp"

namespace cobre::comm::mpi {

/// One operation at a time, and none after one that failed. A communicator and its regions have one in common.
struct Gate {
  std::string broken;             // why, once an operation failed; belongs to the operation that runs
  std::atomic<bool> busy{false};  // only looked at in debug builds
};

[[noreturn, gnu::cold]] inline void refuse(const Gate& gate, const Where& where) {
  throw InvalidCommunicator(where, gate.broken.empty() ? "MPI was finalized" : gate.broken);
}

/// Runs one operation: refused where the communicator is broken or MPI is gone, and what it throws is translated and
/// remembered. `facts()` are its numbers, put together only where they are needed: in debug builds for the first line.
template <class Facts, class Body>
[[gnu::always_inline]] inline decltype(auto) perform(Gate& gate, const Facts& facts, Body&& body) {
#ifndef NDEBUG
  const core::Exclusive exclusive(gate.busy, facts().where);
#endif
  if (!gate.broken.empty() || !ferrompi::Mpi::is_running()) [[unlikely]]
    refuse(gate, facts().where);
  try {
    return body();
  } catch (const ferrompi::Error& error) {
    gate.broken = error.what();
    throw_counterpart(facts(), error);
  } catch (const std::exception& error) {
    gate.broken = error.what();
    throw;
  }
}

}  // namespace cobre::comm::mpi
