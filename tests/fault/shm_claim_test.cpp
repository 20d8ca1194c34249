// A rank that writes into another one's memory, and stops or dies over it.

#include <gtest/gtest.h>

#include "comm/backends/shm/claim.hpp"
#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ShmBackend;
using test::eventually;
using test::outcome_of;
using test::shm_configs;
using test::start_ranks;
using namespace std::chrono_literals;

struct Board {
  std::atomic<bool> stopped{false};
  std::atomic<bool> returned{false};
};

// The writer stops between claim and write; the reader's time is up. It must stay, because the writer may write any
// moment: only when that has cleared its claim, or is dead, may the buffer go.
void expect_reader_to_outstay(int then, const std::string& reader_says) {
  test::Shared<Board> board;
  static Board* shared = nullptr;
  shared = &*board;
  auto ranks = start_ranks(shm_configs(2, [](auto& config) { config.timeout = 200ms; }),
                           [&](const ShmBackend& comm) -> std::string {
                             if (!comm.uses_single_copy()) return "no single copy here";
                             std::vector<double> data(1'000'000, comm.rank() == 0 ? 1.0 : 0.0);
                             if (comm.rank() == 0) {
                               cobre::comm::shm::after_taking_claim = [] {
                                 shared->stopped = true;
                                 raise(SIGSTOP);
                               };
                             }
                             const std::string outcome = outcome_of([&] { comm.broadcast(data, 0); });
                             if (comm.rank() == 1) shared->returned = true;
                             return outcome;
                           });
  ASSERT_TRUE(eventually([&] { return board->stopped.load(); }));
  std::this_thread::sleep_for(1s);
  EXPECT_FALSE(board->returned) << "the reader left though its memory was about to be written";
  ranks[0].signal(then);
  EXPECT_EQ(ranks[1].words(), reader_says);
}

TEST(ShmClaim, HoldsTheReaderUntilAStoppedWriterGoesOn) {
  expect_reader_to_outstay(SIGCONT, "TimedOut 0");
}

TEST(ShmClaim, HoldsTheReaderUntilAStoppedWriterIsDead) {
  expect_reader_to_outstay(SIGKILL, "TimedOut 0");
}

}  // namespace
