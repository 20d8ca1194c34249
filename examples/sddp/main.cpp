// Hydrothermal dispatch by stochastic dual dynamic programming, on any backend. docs/sddp.md explains it.
#include <cobre/comm.hpp>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "application.hpp"

namespace {

// Each stage problem is solved in a copy of a model, which is made, solved and thrown away. Left alone, glibc gives
// that memory back to the kernel every time and fetches it anew, in zeroed pages: a quarter of the processor's time.
void keep_freed_memory() {
#ifdef __GLIBC__
  (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc takes
  (void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  return cobre::comm::run([&](const auto& comm) {
    const std::span<const char* const> arguments(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0));
    return sddp::application(comm, arguments);
  });
}
