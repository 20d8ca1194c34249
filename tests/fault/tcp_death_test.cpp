// Deaths over a network, and beside it.

#include <gtest/gtest.h>

#include <algorithm>

#include "fault/parts_of_the_dead.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::TcpBackend;
using test::eventually;
using test::start_ranks;
using test::tcp_configs;
using namespace std::chrono_literals;

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
  test::Shared<std::atomic<int>> ready;
  auto ranks = start_ranks(tcp_configs(4, [](auto& config) { config.shared_memory = true; }),
                           [&](const TcpBackend& comm) { return fault::lose_a_rank_of_a_part(comm, *ready); });
  EXPECT_EQ(ranks[0].words(), "PeerFailed 0 signal 9; InvalidCommunicator; PeerFailed 1 signal 9");
  for (const std::size_t rank : {2U, 3U}) EXPECT_EQ(ranks[rank].words(), "fine; fine; PeerFailed 1 signal 9");
}

}  // namespace
