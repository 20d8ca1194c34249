#include "ferrompi/unwinding.hpp"

#include <ferrompi/detail/runtime.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace ferrompi::detail {

namespace {

// How long the handler of the exception may take to say what happened.
constexpr auto last_words = std::chrono::seconds(1);
// Launchers carry output and the abort on different ways, and some throw away the output that comes second.
constexpr auto way_of_the_output = std::chrono::milliseconds(200);

[[noreturn]] void end_job() noexcept {
  std::fflush(nullptr);
  std::this_thread::sleep_for(way_of_the_output);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::abort();
}

}  // namespace

// The exception itself cannot be seen from here: C++ shows it to handlers only. So the handler gets its chance, and
// whichever comes first ends the job: the end of the process, or the end of patience.
void end_job_while_unwinding(const char* what) noexcept {
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!leave_mpi_alone()) return;  // somebody else has begun
  std::fprintf(stderr,
               "ferrompi: rank %d: an exception destroys %s while other ranks may be waiting: the job is ended\n", rank,
               what);
  try {
    if (std::atexit([] { end_job(); }) != 0) end_job();
    // MPI_Abort from another thread than the one that may use MPI: nothing of MPI is needed after it.
    std::thread([] {
      std::this_thread::sleep_for(last_words);
      end_job();
    }).detach();
  } catch (...) {
    end_job();
  }
}

namespace {

// Whether the operation came to its end without an error.
bool wait_for_dropped(MPI_Request& request, bool unwinding, const char* what) noexcept {
  if (!unwinding) return MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  // Enough for an operation whose peers are on their way, and short enough not to look like a hang.
  constexpr auto patience = std::chrono::seconds(2);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (int finished = 0;;) {
    if (MPI_Test(&request, &finished, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (finished != 0) return true;
    if (std::chrono::steady_clock::now() > deadline) {
      end_job_while_unwinding(what);
      return false;
    }
    std::this_thread::yield();
  }
}

}  // namespace

void finish_dropped(MPI_Request& request, OnDrop on_drop, const HoldPtr& hold, bool unwinding,
                    const char* what) noexcept {
  if (on_drop == OnDrop::Cancel) MPI_Cancel(&request);
  if (wait_for_dropped(request, unwinding, what) && hold) hold->dropped();
}

}  // namespace ferrompi::detail
