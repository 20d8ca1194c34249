// Linked into every test program of a build with AddressSanitizer: MPI libraries leave memory behind at exit, and that
// must not hide what we leave behind. Compiled in rather than set in the environment, so that a test that is started by
// hand behaves as one that is started by CTest.

extern "C" {

// The plugins of Open MPI are gone when the leaks are counted, and a leak of unknown origin cannot be told from ours.
int dlclose(void* /*handle*/) {
  return 0;
}

// Allocations made inside these libraries. A leak of ours that only passes through them, such as a communicator that
// was not freed, is not seen here: the tests of the handles count those.
const char* __lsan_default_suppressions() {
  return "leak:libmpi.so\n"
         "leak:libopen-rte.so\n"
         "leak:libopen-pal.so\n"
         "leak:libmca_common\n"
         "leak:libpmix.so\n"
         "leak:libhwloc.so\n"
         "leak:libevent\n"
         "leak:openmpi/lib/openmpi3/\n"
         "leak:pmix2/lib/pmix/\n"
         "leak:vasprintf\n";  // called by all of them, and the stack ends there; C++ code of ours has no use for it
}

const char* __lsan_default_options() {
  return "print_suppressions=0";
}

// GCC 12 guesses where the thread-local memory of a plugin lies: a block sixteen bytes after the beginning of a page is
// taken for one of glibc 2.19, and what stands before it for the block's address. Now and then a process
// scans memory that is not there ("Tracer caught signal 11"). Without the guess, what only such a block points to
// counts as leaked; that is memory of the plugins, and suppressed above.
const char* __asan_default_options() {
  return "intercept_tls_get_addr=0";
}
}
