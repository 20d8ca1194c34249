// The one place that includes <mpi.h>, and the one place that asks which MPI library this is.
#pragma once

// The C interface only: the C++ bindings that MPI-3 removed would drag in a second library.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#if defined(OPEN_MPI) && MPI_VERSION < 4
#include <mpi-ext.h>  // persistent collectives, as MPIX_*_init
#endif

/// Argument checks before every call: 1 by default, 0 removes them from the generated code.
#ifndef FERROMPI_CHECKS
#define FERROMPI_CHECKS 1
#endif

/// Checks of the calling thread against the thread level: on in debug builds.
#ifndef FERROMPI_THREAD_CHECKS
#ifdef NDEBUG
#define FERROMPI_THREAD_CHECKS 0
#else
#define FERROMPI_THREAD_CHECKS 1
#endif
#endif

namespace ferrompi::detail {

// Open MPI answers an empty value with MPI_ERR_INFO_VALUE.
#if defined(OPEN_MPI)
inline constexpr bool info_values_may_be_empty = false;
#else
inline constexpr bool info_values_may_be_empty = true;
#endif

}  // namespace ferrompi::detail
