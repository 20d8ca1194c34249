// MPICH waits without ever yielding its core: with more ranks than cores every step of a test costs a time slice of the
// scheduler. Its loop calls the UCX library, so a UCX that yields when it finds nothing to do makes the tests run about
// fifteen times faster. The linker exports this function because the MPI library asks for it; where it asks for none,
// it is never called.

#include <dlfcn.h>
#include <sched.h>

extern "C" unsigned ucp_worker_progress(void* worker) {
  using Progress = unsigned (*)(void*);
  static const auto progress = reinterpret_cast<Progress>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  const unsigned events = progress(worker);
  if (events == 0) sched_yield();
  return events;
}
