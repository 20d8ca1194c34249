// Before the real functions of MPI stands a gate: open while the backend is set up, shut while its calls are counted. A
// call that finds it shut costs the same on both sides, and waits for nobody.
#include "gate.hpp"

#include <mpi.h>

#include "../../ferrompi/count/probe.hpp"

namespace probe {
unsigned long mpi_calls = 0;
bool gate_is_shut = false;
}  // namespace probe

namespace {
template <class F, class... A>
int pass(F function, A... args) {
  ++probe::mpi_calls;
  return probe::gate_is_shut ? MPI_SUCCESS : function(args...);
}
}  // namespace

int MPI_Barrier(MPI_Comm comm) {
  return pass(PMPI_Barrier, comm);
}
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return pass(PMPI_Bcast, buffer, count, type, root, comm);
}
int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return pass(PMPI_Allreduce, send, recv, count, type, op, comm);
}
int MPI_Allgatherv(const void* send, int count, MPI_Datatype send_type, void* recv, const int* counts,
                   const int* displs, MPI_Datatype recv_type, MPI_Comm comm) {
  return pass(PMPI_Allgatherv, send, count, send_type, recv, counts, displs, recv_type, comm);
}
#if MPI_VERSION >= 4
int MPI_Allgatherv_c(const void* send, MPI_Count count, MPI_Datatype send_type, void* recv, const MPI_Count* counts,
                     const MPI_Aint* displs, MPI_Datatype recv_type, MPI_Comm comm) {
  return pass(PMPI_Allgatherv_c, send, count, send_type, recv, counts, displs, recv_type, comm);
}
#endif
