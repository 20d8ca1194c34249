// What a backend that started MPI hands out may go in any order: MPI is finalized once, and after the last of them.
//
//     mpi_lifetime brncq     a backend, a region, a node's ranks, a channel and a request go in this order
//     mpi_lifetime less      the library grants fewer threads than a backend asks for

#include <cobre/comm/mpi.hpp>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

int finalized = 0;
int windows_freed = 0;
int communicators_freed = 0;
int freed_too_late = 0;
bool grants_less = false;

}  // namespace

// Before the library's own.
extern "C" {
int MPI_Finalize() {
  ++finalized;
  return PMPI_Finalize();
}
int MPI_Win_free(MPI_Win* window) {
  ++windows_freed;
  freed_too_late += finalized;
  return PMPI_Win_free(window);
}
int MPI_Comm_free(MPI_Comm* comm) {
  ++communicators_freed;
  freed_too_late += finalized;
  return PMPI_Comm_free(comm);
}
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return PMPI_Init_thread(argc, argv, grants_less ? MPI_THREAD_SERIALIZED : required, provided);
}
}

namespace {

using namespace cobre::comm;

int complain(const char* problem) {
  std::fprintf(stderr, "%s (finalized %d times, %d windows and %d communicators freed, %d too late)\n", problem,
               finalized, windows_freed, communicators_freed, freed_too_late);
  return EXIT_FAILURE;
}

int destroy(std::string_view order) {
  std::optional<FerrompiBackend> backend(FerrompiBackend::init());
  if (backend->topology().mpi->thread_level != "Multiple") return complain("not all threads may call MPI");
  std::optional region(backend->create_shared_region<double>(10));
  auto node = backend->split_local();
  std::optional channel(backend->channel((backend->rank() + 1) % backend->size(), 3));
  std::optional request(backend->ibarrier());
  for (const char letter : order) {
    if (finalized != 0) return complain("MPI was finalized before all were gone");
    switch (letter) {
      case 'b': backend.reset(); break;
      case 'r': region.reset(); break;
      case 'n': node.reset(); break;
      case 'c': channel.reset(); break;
      case 'q': request.reset(); break;
      default: return complain("no such letter");
    }
  }
  if (backend || region || node || channel || request) return complain("something was left");
  if (finalized != 1) return complain("MPI was not finalized once");
  if (windows_freed != 1 || communicators_freed == 0) return complain("something was never freed");
  return freed_too_late == 0 ? EXIT_SUCCESS : complain("something was freed after MPI was finalized");
}

int ask_for_more_than_there_is() {
  grants_less = true;
  try {
    (void)FerrompiBackend::init();
    return complain("fewer threads were enough");
  } catch (const InitializationFailed& error) {
    const std::string words = error.what();
    if (error.backend() != "mpi" || words.find("grants ThreadLevel::Serialized") == std::string::npos) {
      return complain(words.c_str());
    }
  }
  return finalized == 1 ? EXIT_SUCCESS : complain("what was started was not finalized");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  return what == "less" ? ask_for_more_than_there_is() : destroy(what);
}
