// Compiled without checks and looked at by `codegen_test`: the wrapper and the plain call, side by side.
#include <ferrompi/communicator.hpp>
#include <ferrompi/window.hpp>

#include <climits>

using namespace ferrompi;

#define PLAIN(call)                                              \
  if (const int code = call; code != MPI_SUCCESS) [[unlikely]] { \
    detail::throw_mpi_error("operation", code);                  \
  }

extern "C" {

void wrapped_allreduce(const Communicator& comm, std::span<const double, 4> send, std::span<double, 4> recv) {
  comm.allreduce(send, recv, ReduceOp::Sum);
}

void plain_allreduce(const Communicator& comm, const double* send, double* recv) {
  PLAIN(MPI_Allreduce(send, recv, 4, MPI_DOUBLE, MPI_SUM, comm.native()))
}

void wrapped_broadcast(const Communicator& comm, std::span<double, 4> buffer) {
  comm.broadcast(buffer, 0);
}

void plain_broadcast(const Communicator& comm, double* buffer) {
  PLAIN(MPI_Bcast(buffer, 4, MPI_DOUBLE, 0, comm.native()))
}

void wrapped_barrier(const Communicator& comm) {
  comm.barrier();
}

void plain_barrier(const Communicator& comm) {
  PLAIN(MPI_Barrier(comm.native()))
}

double wrapped_value(const Communicator& comm, double value) {
  return comm.allreduce(value, ReduceOp::Max);
}

double plain_value(const Communicator& comm, double value) {
  double result;
  PLAIN(MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, comm.native()))
  return result;
}

// A length known only at run time has one more branch: to the way for counts that an int does not hold.
void wrapped_dynamic(const Communicator& comm, std::span<const double> send, std::span<double> recv) {
  comm.allreduce(send, recv, ReduceOp::Sum);
}

void plain_dynamic(const Communicator& comm, std::span<const double> send, std::span<double> recv) {
  PLAIN(MPI_Allreduce(send.data(), recv.data(), static_cast<int>(send.size()), MPI_DOUBLE, MPI_SUM, comm.native()))
}

// What plain C does to be right there too: a comparison that leads out of the way.
#if MPI_VERSION < 4
[[gnu::cold]] void plain_beyond_int(const Communicator& comm, const double* send, double* recv, std::size_t count);
#endif

void plain_counted(const Communicator& comm, std::span<const double> send, std::span<double> recv) {
  const auto count = send.size();
#if MPI_VERSION < 4
  if (count > INT_MAX) [[unlikely]] {
    return plain_beyond_int(comm, send.data(), recv.data(), count);
  }
  PLAIN(MPI_Allreduce(send.data(), recv.data(), static_cast<int>(count), MPI_DOUBLE, MPI_SUM, comm.native()))
#else
  int result = MPI_SUCCESS;
  if (count > INT_MAX) [[unlikely]] {
    result =
        MPI_Allreduce_c(send.data(), recv.data(), static_cast<MPI_Count>(count), MPI_DOUBLE, MPI_SUM, comm.native());
  } else {
    result = MPI_Allreduce(send.data(), recv.data(), static_cast<int>(count), MPI_DOUBLE, MPI_SUM, comm.native());
  }
  PLAIN(result)
#endif
}

// Reading a window is reading memory.
double wrapped_reading(const SharedWindow<double>& window) {
  double total = 0;
  for (const double value : window.local()) total += value;
  return total;
}

double plain_reading(std::span<const double> segment) {
  double total = 0;
  for (const double value : segment) total += value;
  return total;
}
}
