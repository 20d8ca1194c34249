// What the hardware does on this machine, beside which the collectives stand: a flag exchanged between two cores, and
// copying, adding and reading another process's memory on one.

#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "measure.hpp"

namespace {

struct alignas(128) Flag {
  std::atomic<unsigned long> value;
};

void exchange_flags(Flag* flags, int rank, unsigned long rounds) {
  for (unsigned long i = 1; i <= rounds; ++i) {
    flags[rank].value.store(i, std::memory_order_release);
    while (flags[1 - rank].value.load(std::memory_order_acquire) < i) __builtin_ia32_pause();
  }
}

template <class Body>
double best_of(int repeats, int calls, Body&& body) {
  body();
  double best = 1e300;
  for (int r = 0; r < repeats; ++r) {
    const double begin = bench::now();
    for (int i = 0; i < calls; ++i) body();
    best = std::min(best, (bench::now() - begin) / calls);
  }
  return best;
}

void flags() {
  auto* const shared =
      static_cast<Flag*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  constexpr unsigned long rounds = 500'000;
  const pid_t child = fork();
  bench::pin(child == 0 ? 1 : 0, 2);
  const double begin = bench::now();
  exchange_flags(shared, child == 0 ? 1 : 0, rounds);
  if (child == 0) _exit(0);
  std::printf("flag_exchange 0 %.4f\n", (bench::now() - begin) / rounds);
  waitpid(child, nullptr, 0);
}

void memory(std::size_t bytes) {
  const int calls = bytes > 10'000'000 ? 5 : bytes > 1'000'000 ? 50 : 500;
  std::vector<double> a(bytes / sizeof(double), 1.0);
  std::vector<double> b(a.size(), 2.0);
  std::vector<double> c(a.size(), 0.0);
  std::printf("memcpy %zu %.4f\n", bytes, best_of(5, calls, [&] { std::memcpy(c.data(), a.data(), bytes); }));
  std::printf("add %zu %.4f\n", bytes, best_of(5, calls, [&] {
                for (std::size_t i = 0; i < a.size(); ++i) c[i] = a[i] + b[i];
                asm volatile("" ::"r"(c.data()) : "memory");
              }));
  int ready[2];
  int over[2];
  if (pipe(ready) != 0 || pipe(over) != 0) return;
  const pid_t child = fork();
  char token = 0;
  if (child == 0) {
    close(over[1]);
    std::memset(a.data(), 1, bytes);
    if (write(ready[1], &token, 1) != 1) _exit(1);
    _exit(read(over[0], &token, 1) < 0 ? 1 : 0);  // until the parent closes its end
  }
  if (read(ready[0], &token, 1) == 1) {
    const iovec local{c.data(), bytes};
    const iovec remote{a.data(), bytes};
    std::printf("readv %zu %.4f\n", bytes, best_of(5, calls, [&] {
                  if (process_vm_readv(child, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(bytes)) std::exit(1);
                }));
  }
  close(over[1]);
  waitpid(child, nullptr, 0);
  for (const int fd : {ready[0], ready[1], over[0]}) close(fd);
}

}  // namespace

int main() {
  flags();
  for (const std::size_t bytes : {1024UL, 16384UL, 262144UL, 3276800UL, 33554432UL}) memory(bytes);
}
