// The MPI functions that start and finish requests, for programs that wait for them. What is started is over at once.
#include "probe.hpp"

#include <mpi.h>

#include <cstddef>
#include <type_traits>

namespace {

template <class Handle>
Handle some_request() {
  if constexpr (std::is_pointer_v<Handle>) {
    static std::max_align_t request;
    return reinterpret_cast<Handle>(&request);
  } else {
    return 1;
  }
}

}  // namespace

int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request* request) {
  ++probe::mpi_calls;
  *request = some_request<MPI_Request>();
  return MPI_SUCCESS;
}
int MPI_Recv_init(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request* request) {
  *request = some_request<MPI_Request>();
  return MPI_SUCCESS;
}
int MPI_Start(MPI_Request*) {
  ++probe::mpi_calls;
  return MPI_SUCCESS;
}
int MPI_Wait(MPI_Request*, MPI_Status*) {
  ++probe::mpi_calls;
  return MPI_SUCCESS;
}
int MPI_Waitall(int, MPI_Request*, MPI_Status*) {
  ++probe::mpi_calls;
  return MPI_SUCCESS;
}
int MPI_Waitany(int count, MPI_Request* requests, int* place, MPI_Status*) {
  ++probe::mpi_calls;
  int i = 0;
  while (i < count && requests[i] == MPI_REQUEST_NULL) ++i;
  *place = i < count ? i : MPI_UNDEFINED;
  if (i < count) requests[i] = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
int MPI_Waitsome(int count, MPI_Request*, int* number, int* places, MPI_Status*) {
  ++probe::mpi_calls;
  for (int i = 0; i < count; ++i) places[i] = i;
  *number = count;
  return MPI_SUCCESS;
}
