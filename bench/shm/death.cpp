// How long survivors take to learn that a rank was killed: three ranks wait in a barrier, the fourth is killed.

#include <cobre/comm.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <new>

#include "peers/sampling.hpp"

namespace {

struct Board {
  std::atomic<double> killed_at;
  std::atomic<int> waiting;
  std::atomic<int> noticed;
  std::array<std::atomic<double>, 4> noticed_at;
};

int wait_for_victim(const cobre::comm::ShmConfig& config, Board& board) {
  const auto comm = cobre::comm::ShmBackend::attach(config);
  comm.barrier();
  ++board.waiting;
  if (config.rank == 3) pause();
  try {
    comm.barrier();
  } catch (const cobre::comm::PeerFailed& error) {
    board.noticed_at[config.rank] = bench::now();
    return error.rank() == 3 ? 0 : 1;
  }
  return 1;
}

}  // namespace

int main() {
  auto* const board =
      new (mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Board();
  std::vector<double> delays;
  for (int round = 0; round < 100; ++round) {
    board->waiting = 0;
    cobre::comm::ShmConfig config;
    config.name = "death-" + std::to_string(getpid()) + "-" + std::to_string(round);
    config.size = 4;
    std::array<pid_t, 4> ranks{};
    for (config.rank = 0; config.rank < config.size; ++config.rank) {
      ranks[config.rank] = fork();
      if (ranks[config.rank] == 0) _exit(wait_for_victim(config, *board));
    }
    while (board->waiting < 4) usleep(1000);
    usleep(static_cast<useconds_t>(20000 + round * 137));  // asleep, at another moment each time
    board->killed_at = bench::now();
    kill(ranks[3], SIGKILL);
    for (const pid_t rank : ranks) waitpid(rank, nullptr, 0);
    for (int rank = 0; rank < 3; ++rank)
      delays.push_back(board->noticed_at[static_cast<std::size_t>(rank)] - board->killed_at);
  }
  std::sort(delays.begin(), delays.end());
  std::printf("a killed rank is noticed after %.2f ms (median), %.2f ms (99 of 100), %.2f ms (longest of %zu)",
              delays[delays.size() / 2] / 1e3, delays[delays.size() * 99 / 100] / 1e3, delays.back() / 1e3,
              delays.size());
  std::printf("; wanted: 99 of 100 within 10 ms\n");
}
