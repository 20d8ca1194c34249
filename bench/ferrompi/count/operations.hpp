// What the programs of operations share: an operation twice, as a plain call of MPI whose return code is looked at, and
// through ferrompi. Compiled once with the argument checks and once without; run under the tracer.
//
// Both sides are given the same and do the same: a small object with communicator, rank and size, and buffers that know
// their length. So plain C divides a buffer by the number of ranks where the operation does.
#pragma once

#include <ferrompi/communicator.hpp>
#include <ferrompi/environment.hpp>

#include "regions.hpp"

#include <array>
#include <span>

using ferrompi::Communicator;
using ferrompi::ReduceOp;

constexpr std::size_t n = 8;

// Visible outside of this file, so that the compiler cannot know what they hold.
std::array<double, n> first, second;
std::array<double, n * probe::ranks> many, others;
int source = 0;

namespace {

struct Operation {
  const char* name;
  void (*plain)(const Plain&);
  void (*ours)(const Communicator&);
  probe::Kind kind = probe::Kind::Fixed;
};

int count_all(std::span<const Operation> operations) {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const Plain plain{world.native(), world.rank(), world.size()};

  begin(plain);
  for (const auto& operation : operations) {
    measure(operation.name, "plain", operation.kind, operation.plain, plain);
    measure(operation.name, "ours", operation.kind, operation.ours, world);
  }
  std::_Exit(EXIT_SUCCESS);
}

}  // namespace
