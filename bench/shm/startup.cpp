// How long a group needs to come together: eight ranks that are all there, from the first call of attach to the return
// of the last.

#include <cobre/comm.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <new>

#include "peers/sampling.hpp"

namespace {

constexpr std::size_t size = 8;

struct Board {
  std::atomic<int> here;
  std::atomic<bool> go;
  std::array<std::atomic<double>, size> began;
  std::array<std::atomic<double>, size> ready;
};

int attach(const cobre::comm::ShmConfig& config, Board& board) {
  ++board.here;
  while (!board.go) usleep(100);
  board.began[config.rank] = bench::now();
  const auto comm = cobre::comm::ShmBackend::attach(config);
  board.ready[config.rank] = bench::now();
  comm.barrier();  // nobody goes home while others are still coming
  return 0;
}

}  // namespace

int main() {
  auto* const board =
      new (mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Board();
  std::vector<double> times;
  for (int round = 0; round < 20; ++round) {
    board->here = 0;
    board->go = false;
    cobre::comm::ShmConfig config;
    config.name = "startup-" + std::to_string(getpid()) + "-" + std::to_string(round);
    config.size = size;
    for (config.rank = 0; config.rank < size; ++config.rank) {
      if (fork() == 0) _exit(attach(config, *board));
    }
    while (board->here < static_cast<int>(size)) usleep(1000);
    board->go = true;
    for (int status = 0; wait(&status) > 0;) {
      if (status != 0) return 1;
    }
    times.push_back(*std::max_element(board->ready.begin(), board->ready.end()) -
                    *std::min_element(board->began.begin(), board->began.end()));
  }
  std::sort(times.begin(), times.end());
  std::printf("8 ranks are up after %.2f ms (median), %.2f ms (longest of %zu); wanted: within 50 ms\n",
              times[times.size() / 2] / 1e3, times.back() / 1e3, times.size());
}
