// The MPI functions that are counted, as one function that does nothing. The names are aliases of it, so a call costs
// the same whichever it is, and a program that is linked with this file calls it instead of the library. They are weak:
// a program may have a function of its own where it needs an answer.
#include "probe.hpp"

#include <mpi.h>

namespace probe {
unsigned long mpi_calls = 0;
}

extern "C" int ferrompi_count_stand_in() {
  ++probe::mpi_calls;
  return MPI_SUCCESS;
}

#define STANDS_IN(name) __asm__(".weak " #name "\n.type " #name ", @function\n.set " #name ", ferrompi_count_stand_in");

#define STANDS_IN_FOR_BOTH_COUNTS(name) STANDS_IN(name) STANDS_IN(name##_c)

STANDS_IN(MPI_Barrier)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Bcast)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Reduce)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Allreduce)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Scan)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Exscan)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Reduce_scatter)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Reduce_scatter_block)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Gather)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Gatherv)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Scatter)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Scatterv)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Allgather)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Allgatherv)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Alltoall)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Alltoallv)
STANDS_IN(MPI_Alltoallw)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Send)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Ssend)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Recv)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Sendrecv)
STANDS_IN_FOR_BOTH_COUNTS(MPI_Sendrecv_replace)
STANDS_IN(MPI_Probe)
STANDS_IN(MPI_Iprobe)

STANDS_IN(MPI_Win_fence)
STANDS_IN(MPI_Win_lock)
STANDS_IN(MPI_Win_unlock)
STANDS_IN(MPI_Win_lock_all)
STANDS_IN(MPI_Win_unlock_all)
STANDS_IN(MPI_Win_flush)
STANDS_IN(MPI_Win_flush_local)
STANDS_IN(MPI_Win_flush_all)
STANDS_IN(MPI_Win_flush_local_all)
STANDS_IN(MPI_Win_sync)
STANDS_IN(MPI_Put)
STANDS_IN(MPI_Get)
STANDS_IN(MPI_Accumulate)
STANDS_IN(MPI_Get_accumulate)
STANDS_IN(MPI_Fetch_and_op)
STANDS_IN(MPI_Compare_and_swap)

// What the library asks while it starts: a world of four ranks, of which this is the first.
STANDS_IN(MPI_Comm_set_errhandler)
STANDS_IN(MPI_Win_set_errhandler)
STANDS_IN(MPI_Error_class)
STANDS_IN(MPI_Comm_create_keyval)
STANDS_IN(MPI_Comm_set_attr)
STANDS_IN(MPI_Comm_free_keyval)
STANDS_IN(MPI_Finalize)

namespace {
bool initialized = false;
int largest_tag = 1 << 20;
}  // namespace

// A message is found, and received once.
int MPI_Mprobe(int, int, MPI_Comm, MPI_Message* message, MPI_Status*) {
  ++probe::mpi_calls;
  *message = MPI_MESSAGE_NO_PROC;
  return MPI_SUCCESS;
}
int MPI_Improbe(int, int, MPI_Comm, int* found, MPI_Message* message, MPI_Status*) {
  ++probe::mpi_calls;
  *found = 1;
  *message = MPI_MESSAGE_NO_PROC;
  return MPI_SUCCESS;
}
int MPI_Mrecv(void*, int, MPI_Datatype, MPI_Message* message, MPI_Status*) {
  ++probe::mpi_calls;
  *message = MPI_MESSAGE_NULL;
  return MPI_SUCCESS;
}

int MPI_Init_thread(int*, char***, int required, int* provided) {
  initialized = true;
  *provided = required;
  return MPI_SUCCESS;
}
int MPI_Initialized(int* flag) {
  *flag = initialized ? 1 : 0;
  return MPI_SUCCESS;
}
int MPI_Finalized(int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}
int MPI_Query_thread(int* level) {
  *level = MPI_THREAD_SINGLE;
  return MPI_SUCCESS;
}
int MPI_Is_thread_main(int* flag) {
  *flag = 1;
  return MPI_SUCCESS;
}
int MPI_Comm_rank(MPI_Comm, int* rank) {
  *rank = 0;
  return MPI_SUCCESS;
}
int MPI_Comm_size(MPI_Comm, int* size) {
  *size = probe::ranks;
  return MPI_SUCCESS;
}
int MPI_Comm_get_attr(MPI_Comm, int key, void* value, int* found) {
  *static_cast<int**>(value) = &largest_tag;
  *found = key == MPI_TAG_UB ? 1 : 0;
  return MPI_SUCCESS;
}
