// The numbers of MPI that mean something, by name: they differ from library to library.
#pragma once

#include <ferrompi/detail/mpi.hpp>

namespace ferrompi {

/// Receive from whoever sends.
inline constexpr int any_source = MPI_ANY_SOURCE;
/// Receive whatever the tag.
inline constexpr int any_tag = MPI_ANY_TAG;
/// A peer that does not exist: sending to it and receiving from it succeed at once and move nothing.
inline constexpr int proc_null = MPI_PROC_NULL;
/// The colour of a rank that joins no part of a split.
inline constexpr int undefined = MPI_UNDEFINED;

}  // namespace ferrompi
