#include "ferrompi/unwinding.hpp"

#include <ferrompi/detail/runtime.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace ferrompi::detail {

void abort_while_unwinding(const char* what, MPI_Comm comm) noexcept {
  int rank = -1;
  MPI_Comm_rank(comm, &rank);
  std::fprintf(stderr, "ferrompi: rank %d: %s is destroyed by an exception; ending the job\n", rank, what);
  std::fflush(stderr);
  MPI_Abort(comm, EXIT_FAILURE);
  std::abort();
}

void finish_dropped(MPI_Request& request, bool unwinding, const char* what) noexcept {
  if (!unwinding) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return;
  }
  // Enough for an operation whose peers are on their way, and short enough not to look like a hang.
  constexpr auto patience = std::chrono::seconds(2);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (int finished = 0;;) {
    if (MPI_Test(&request, &finished, MPI_STATUS_IGNORE) != MPI_SUCCESS || finished != 0) return;
    if (std::chrono::steady_clock::now() > deadline) abort_while_unwinding(what, MPI_COMM_WORLD);
    std::this_thread::yield();
  }
}

}  // namespace ferrompi::detail
