// Deaths over a network, and beside it.

#include <gtest/gtest.h>

#include <algorithm>

#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::TcpBackend;
using test::eventually;
using test::outcome_of;
using test::start_ranks;
using test::tcp_configs;
using namespace std::chrono_literals;

struct Board {
  std::atomic<int> ready{0};
};

TEST(TcpAbort, EndsEveryRankWhereverItIs) {
  auto ranks = start_ranks(tcp_configs(4), [](const TcpBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() == 1) comm.abort(7);
    if (comm.rank() == 3) comm.barrier();
    for (;;) std::this_thread::sleep_for(1s);
  });
  EXPECT_TRUE(eventually([&] { return std::ranges::all_of(ranks, [](auto& rank) { return rank.ended(); }); }, 5s));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const int status = ranks[rank].await_end();
    if (rank == 1) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    } else {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << "rank " << rank;
    }
  }
}

// Where ranks of one host use its memory, so do their parts.
TEST(TcpDeath, BreaksThePartsOfTheDeadInSharedMemoryToo) {
  test::Shared<Board> board;
  constexpr std::size_t size = 4;
  const auto configs = tcp_configs(size, [&](auto& config) { config.shared_memory = true; });
  auto ranks = start_ranks(configs, [&](const TcpBackend& comm) -> std::string {
    const auto part = comm.split(comm.rank() < 2 ? 0 : 1, -static_cast<int>(comm.rank()));
    part->barrier();
    if (comm.rank() == 1) {  // rank 0 of its part
      eventually([&] { return board->ready == static_cast<int>(size) - 1; });
      raise(SIGKILL);
    }
    ++board->ready;
    const std::string first = outcome_of([&] { part->barrier(); });
    const std::string second = outcome_of([&] { part->barrier(); });
    return first + "; " + second + "; " + outcome_of([&] { comm.barrier(); });
  });
  EXPECT_EQ(ranks[0].words(), "PeerFailed 0 signal 9; InvalidCommunicator; PeerFailed 1 signal 9");
  for (const std::size_t rank : {2U, 3U}) EXPECT_EQ(ranks[rank].words(), "fine; fine; PeerFailed 1 signal 9");
}

}  // namespace
