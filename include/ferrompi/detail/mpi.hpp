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

#define FERROMPI_CONCATENATE(a, b, c, d) a##b##c##d
#define FERROMPI_VARIANT_OF(checks, threads) FERROMPI_CONCATENATE(checks_, checks, _threads_, threads)
/// The inline namespace of code that depends on these switches.
#define FERROMPI_VARIANT FERROMPI_VARIANT_OF(FERROMPI_CHECKS, FERROMPI_THREAD_CHECKS)

/// The hot path: constants of the call site (operation, element type, length) must reach the MPI call.
#define FERROMPI_INLINE [[gnu::always_inline]] inline

namespace ferrompi::detail {

/// Whether every call has a twin with 64-bit counts (MPI 4). Without, what exceeds an int is described by a datatype.
inline constexpr bool has_large_counts = MPI_VERSION >= 4;

/// Stands for a function that this library does not have.
struct Absent {};

/// Stands for an error class that this library does not have: none is negative.
inline constexpr int no_such_class = -1;

// Whether the library can go on when a process has died, and say which: MPI_ERR_PROC_FAILED and its kin are extensions.
#if defined(MPIX_ERR_PROC_FAILED)
#define FERROMPI_FAILURE_CLASS(name) (MPIX_ERR_##name)
#else
#define FERROMPI_FAILURE_CLASS(name) (::ferrompi::detail::no_such_class)
#endif

// The classes that came with MPI 4. Some libraries have them before they have the rest of it, so each is asked for.
namespace newer_class {
#if defined(MPI_ERR_SESSION)
inline constexpr int session = MPI_ERR_SESSION;
#else
inline constexpr int session = no_such_class;
#endif
#if defined(MPI_ERR_PROC_ABORTED)
inline constexpr int proc_aborted = MPI_ERR_PROC_ABORTED;
#else
inline constexpr int proc_aborted = no_such_class;
#endif
#if defined(MPI_ERR_VALUE_TOO_LARGE)
inline constexpr int value_too_large = MPI_ERR_VALUE_TOO_LARGE;
#else
inline constexpr int value_too_large = no_such_class;
#endif
#if defined(MPI_ERR_ERRHANDLER)
inline constexpr int errhandler = MPI_ERR_ERRHANDLER;
#else
inline constexpr int errhandler = no_such_class;
#endif
}  // namespace newer_class

// Open MPI answers an empty value with MPI_ERR_INFO_VALUE.
#if defined(OPEN_MPI)
inline constexpr bool info_values_may_be_empty = false;
#else
inline constexpr bool info_values_may_be_empty = true;
#endif

}  // namespace ferrompi::detail

// The functions of one operation: the blocking, nonblocking and persistent call, each with int and 64-bit counts. As
// pointers that are constants, so that a call through them is a direct call.
//
// Open MPI 4.1 has the persistent collectives of MPI 4 under the prefix of an extension; a library that has none gets
// them from the nonblocking call.
#if MPI_VERSION >= 4
#define FERROMPI_PERSISTENT_COLLECTIVE(Name) static constexpr auto persistent = &MPI_##Name##_init
#define FERROMPI_LARGE_COLLECTIVE(Name, name)                 \
  static constexpr auto blocking_large = &MPI_##Name##_c;     \
  static constexpr auto nonblocking_large = &MPI_I##name##_c; \
  static constexpr auto persistent_large = &MPI_##Name##_init_c
#else
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define FERROMPI_PERSISTENT_COLLECTIVE(Name) static constexpr auto persistent = &MPIX_##Name##_init
#else
#define FERROMPI_PERSISTENT_COLLECTIVE(Name) \
  static constexpr ::ferrompi::detail::Absent persistent {}
#endif
#define FERROMPI_LARGE_COLLECTIVE(Name, name) \
  static constexpr ::ferrompi::detail::Absent blocking_large{}, nonblocking_large{}, persistent_large {}
#endif
#define FERROMPI_COLLECTIVE_ENTRY_POINTS(Name, name) \
  static constexpr auto blocking = &MPI_##Name;      \
  static constexpr auto nonblocking = &MPI_I##name;  \
  FERROMPI_PERSISTENT_COLLECTIVE(Name);              \
  FERROMPI_LARGE_COLLECTIVE(Name, name)

#if MPI_VERSION >= 4
#define FERROMPI_MATCHED_ENTRY_POINTS                  \
  static constexpr auto blocking = &MPI_Mrecv;         \
  static constexpr auto nonblocking = &MPI_Imrecv;     \
  static constexpr auto blocking_large = &MPI_Mrecv_c; \
  static constexpr auto nonblocking_large = &MPI_Imrecv_c
#define FERROMPI_BLOCKING_ENTRY_POINTS(Name)    \
  static constexpr auto blocking = &MPI_##Name; \
  static constexpr auto blocking_large = &MPI_##Name##_c
#define FERROMPI_LARGE_MESSAGE(Blocking, Nonblocking, Persistent)   \
  static constexpr auto blocking_large = &MPI_##Blocking##_c;       \
  static constexpr auto nonblocking_large = &MPI_##Nonblocking##_c; \
  static constexpr auto persistent_large = &MPI_##Persistent##_c
#else
#define FERROMPI_MATCHED_ENTRY_POINTS              \
  static constexpr auto blocking = &MPI_Mrecv;     \
  static constexpr auto nonblocking = &MPI_Imrecv; \
  static constexpr ::ferrompi::detail::Absent blocking_large{}, nonblocking_large {}
#define FERROMPI_BLOCKING_ENTRY_POINTS(Name)    \
  static constexpr auto blocking = &MPI_##Name; \
  static constexpr ::ferrompi::detail::Absent blocking_large {}
#define FERROMPI_LARGE_MESSAGE(Blocking, Nonblocking, Persistent) \
  static constexpr ::ferrompi::detail::Absent blocking_large{}, nonblocking_large{}, persistent_large {}
#endif
#define FERROMPI_MESSAGE_ENTRY_POINTS(Blocking, Nonblocking, Persistent) \
  static constexpr auto blocking = &MPI_##Blocking;                      \
  static constexpr auto nonblocking = &MPI_##Nonblocking;                \
  static constexpr auto persistent = &MPI_##Persistent;                  \
  FERROMPI_LARGE_MESSAGE(Blocking, Nonblocking, Persistent)

namespace ferrompi::detail {

// MPICH builds persistent collectives from schedules that keep state from their construction. Measured on 4.0.2 with
// changed data: gather is wrong from the first start, scatter and allgather from the second. Broadcast was right on
// one machine, but is made of scatter and allgather on larger ones. The four run over the nonblocking call there.
#if defined(MPICH_VERSION)
inline constexpr bool restarts_wrongly = true;
#else
inline constexpr bool restarts_wrongly = false;
#endif

// Open MPI 4.1 frees a persistent request when a round of it fails, such as by a message that is too long; the standard
// leaves it there to be started again.
#if defined(OPEN_MPI)
inline constexpr bool frees_failed_plans = true;
#else
inline constexpr bool frees_failed_plans = false;
#endif

// Open MPI 4.1 says of a round that failed that it went well where several are waited for or tested: MPI_Waitall and
// MPI_Testall tell in the status alone, and MPI_Testany nowhere.
#if defined(OPEN_MPI)
inline constexpr bool hides_failed_plans = true;
#else
inline constexpr bool hides_failed_plans = false;
#endif

// MPICH before 4.2 reads MPI_IN_PLACE as an address in MPI_Reduce when the root is not rank 0 (its issue 6540).
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
inline constexpr bool reduces_in_place_wrongly = true;
#else
inline constexpr bool reduces_in_place_wrongly = false;
#endif

// MPICH's MPI_Reduce_scatter in place moves a rank's part to the front with memcpy, and aborts if the two overlap.
#if defined(MPICH_VERSION)
inline constexpr bool scatters_in_place_wrongly = true;
#else
inline constexpr bool scatters_in_place_wrongly = false;
#endif

// MPICH 4.0.2 ignores the displacement in MPI_Allgatherv and MPI_Iallgatherv on a communicator of one rank.
#if defined(MPICH_VERSION)
inline constexpr bool ignores_a_single_displacement = true;
#else
inline constexpr bool ignores_a_single_displacement = false;
#endif

// MPICH 4.0.2 cuts an allgatherv of more than 2^31 elements into so many pieces that it hardly gets on: some MB a
// second.
#if defined(MPICH_VERSION)
inline constexpr bool creeps_through_large_gathers = true;
#else
inline constexpr bool creeps_through_large_gathers = false;
#endif

// MPICH 4.0.2 beyond 2^31: a nonblocking broadcast of so many bytes is delivered and then called failed; a scatter of
// so many bytes in all ends the process or delivers nothing, and so does a gather from four ranks on;
// MPI_Reduce_scatter ends the process, and MPI_Reduce_scatter_block too, in every form, where a block begins beyond so
// many elements. Nonblocking, an alltoall in place of blocks of so many bytes and an alltoallv in
// place of parts of so many elements ask for a negative amount of memory.
#if defined(MPICH_VERSION)
inline constexpr bool fails_beyond_int = true;
#else
inline constexpr bool fails_beyond_int = false;
#endif

// MPICH 4.0.2 compares unsigned integers as if they had a sign: of 3 and 4 billion MPI_MAX is 3.
#if defined(MPICH_VERSION)
inline constexpr bool orders_unsigned_wrongly = true;
#else
inline constexpr bool orders_unsigned_wrongly = false;
#endif

// Open MPI cuts the elements of a reduction that commutes into pieces, to combine them in any order, and one large
// element cannot be cut: its Ireduce makes a hundred thousand empty pieces of it. MPICH needs a copy of the whole for
// what does not commute.
#if defined(OPEN_MPI)
inline constexpr bool cuts_large_elements = true;
#else
inline constexpr bool cuts_large_elements = false;
#endif

// Open MPI 4.1 gives a rank that has no part at all in a nonblocking or persistent alltoallv or alltoallw in place a
// request that is over, and does not count the call: in the next nonblocking collective on that communicator the rank
// is out of step with the others, and all of them hang. Equal addresses, such as those of two empty vectors, are in
// place.
#if defined(OPEN_MPI)
inline constexpr bool miscounts_without_parts = true;
#else
inline constexpr bool miscounts_without_parts = false;
#endif

// The blocking MPI_Allreduce of MPICH 4.0 goes the way that is meant for long messages, twice the steps, as soon as
// there is an element for every rank; its schedules, of which persistent requests are made, take the short way up to 2
// KiB.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000 && MPICH_NUMVERSION < 40100000
inline constexpr bool takes_the_long_way_for_short_sums = true;
#else
inline constexpr bool takes_the_long_way_for_short_sums = false;
#endif

}  // namespace ferrompi::detail
