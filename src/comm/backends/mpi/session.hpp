// MPI as long as anything needs it.
#pragma once

#include <ferrompi/environment.hpp>

#include <memory>

namespace cobre::comm::mpi {

/// Starts MPI or adopts one that runs; whoever asks again while it is held gets the same. Backends, regions and node
/// communicators each hold a share, so MPI is finalized last, in whatever order they are destroyed.
/// Throws InitializationFailed where the level that was granted is below `required`.
std::shared_ptr<ferrompi::Mpi> share_mpi(ferrompi::ThreadLevel required);

/// Throws InitializationFailed where the launcher announced another number of processes than MPI found: a program that
/// was linked with one MPI and started by the launcher of another sees worlds of one.
void require_announced_size(int world_size);

}  // namespace cobre::comm::mpi
