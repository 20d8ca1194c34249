// MPI's errors in the words of layer 2.
#pragma once

#include <cobre/comm/errors.hpp>
#include <ferrompi/error.hpp>

#include <cstddef>

namespace cobre::comm::mpi {

/// The numbers of the call that failed.
struct CallFacts {
  Where where;
  std::size_t root = 0;
  std::size_t count = 0;  // elements
  std::size_t bytes = 0;
};

/// Throws the counterpart of `error`, with `error` nested in it. The table is in docs/backends/mpi.md.
[[noreturn]] void throw_counterpart(const CallFacts& facts, const ferrompi::Error& error);

}  // namespace cobre::comm::mpi
