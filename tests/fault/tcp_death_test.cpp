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

struct Board {
  std::atomic<int> inside{0};
  std::atomic<int> left{0};
  std::atomic<test::Clock::rep> died{0};
};

// In a binomial broadcast from rank 1 ranks 6 and 7 wait for rank 5, and rank 0 waits for rank 7. Those who have left
// cut the control tree: 5 has no neighbour in it any more, and 0 none that knows 5.
TEST(TcpDeath, IsNamedByThoseWhoWaitBehindOthersAfterRanksBetweenThemHaveLeft) {
  double quickest = 1e9;
  for (int attempt = 0; attempt < 3 && quickest >= 0.1; ++attempt) {
    test::Shared<Board> board;
    std::vector<test::Process> ranks;
    for (const auto& config : tcp_configs(8)) {
      ranks.emplace_back([&]() -> std::string {
        std::string words;
        {
          const auto comm = TcpBackend::connect(config);
          if (comm.rank() == 5) {
            eventually([&] { return board->left == 4 && board->inside == 3; });
            std::this_thread::sleep_for(30ms);
            board->died = test::Clock::now().time_since_epoch().count();
            raise(SIGKILL);
          }
          const bool behind = comm.rank() == 0 || comm.rank() >= 6;
          if (behind) ++board->inside;
          words = test::outcome_of([&] { (void)comm.broadcast(7, 1); });
          if (behind) {
            const auto took = test::Clock::duration(test::Clock::now().time_since_epoch().count() - board->died);
            words += " " + std::to_string(std::chrono::duration<double>(took).count());
          }
        }
        ++board->left;
        eventually([&] { return board->died != 0; });
        return words;
      });
    }
    double slowest = 0;
    for (const std::size_t rank : {0U, 6U, 7U}) {
      const std::string words = ranks[rank].words();
      ASSERT_TRUE(words.starts_with("PeerFailed 5 ")) << "rank " << rank << ": " << words;
      slowest = std::max(slowest, std::stod(words.substr(13)));
    }
    quickest = std::min(quickest, slowest);
  }
  EXPECT_LT(quickest, 0.1);
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
