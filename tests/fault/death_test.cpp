// Ranks that die, leave or give up, in every way and at every moment: the others learn who, and soon.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <random>

#include "fault/on_backends.hpp"
#include "fault/parts_of_the_dead.hpp"

namespace {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;
using test::Clock;
using test::eventually;
using test::outcome_of;
using namespace std::chrono_literals;

struct Board {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<Clock::rep> died{0};
  std::atomic<Clock::rep> slowest{0};

  void note_death() { died = Clock::now().time_since_epoch().count(); }
  void note_detection() {
    const auto took = Clock::now().time_since_epoch().count() - died;
    for (auto before = slowest.load(); took > before && !slowest.compare_exchange_weak(before, took);) {
    }
  }
  /// How long it took the last one.
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::duration(slowest)).count(); }
};

class Death : public fault::OnBackends {
 protected:
  // The victim comes so far and no further; the others wait for it in a barrier, first awake and then asleep. How long
  // it took the slowest of them to learn of it.
  static double expect_everyone_names_the_victim(std::size_t size, std::size_t victim, const std::function<void()>& die,
                                                 std::chrono::milliseconds before, const std::string& expected) {
    test::Shared<Board> board;
    auto ranks = start(size, [&](const CommBackend& comm) -> std::string {
      comm.barrier();
      if (comm.rank() == victim) {
        eventually([&] { return board->ready == static_cast<int>(size) - 1; });
        std::this_thread::sleep_for(before);
        board->note_death();
        die();
      }
      ++board->ready;
      const std::string first = outcome_of([&] { comm.barrier(); });
      board->note_detection();
      return first + "; " + outcome_of([&] { comm.barrier(); });
    });
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(ranks[rank].words(), expected + "; InvalidCommunicator") << "rank " << rank;
    }
    return board->seconds();
  }

  // Names are right each time; a machine that has other things to do may be late, but not three times in a row.
  static void expect_everyone_names_the_victim_soon(std::size_t size, std::size_t victim,
                                                    const std::function<void()>& die, std::chrono::milliseconds before,
                                                    const std::string& expected) {
    double quickest = std::numeric_limits<double>::max();
    for (int attempt = 0; attempt < 3 && quickest >= 0.1; ++attempt) {
      quickest = std::min(quickest, expect_everyone_names_the_victim(size, victim, die, before, expected));
    }
    EXPECT_LT(quickest, 0.1);
  }
};

INSTANTIATE_TEST_SUITE_P(On, Death, testing::ValuesIn(fault::layouts()), fault::name_of);

TEST_P(Death, BySignalIsNamedByEveryoneWhoWaits) {
  for (const std::size_t size : {2U, 3U, 5U, 8U}) {
    for (const std::size_t victim : {std::size_t{0}, std::size_t{1}, size - 1}) {
      expect_everyone_names_the_victim_soon(
          size, victim, [] { raise(SIGKILL); }, 5ms, killed(victim));
    }
  }
}

TEST_P(Death, IsNamedAlsoByThoseWhoSleep) {
  expect_everyone_names_the_victim_soon(
      4, 0, [] { raise(SIGKILL); }, 60ms, killed(0));
}

TEST_P(Death, ByExitIsNamed) {
  expect_everyone_names_the_victim_soon(
      4, 2, [] { _exit(3); }, 20ms, exited(2, 3));
}

// Who computes learns it at the next call; who waits for one that computes learns it meanwhile.
TEST_P(Death, IsToldToThoseWhoWaitEvenWhileTheirNeighbourComputes) {
  test::Shared<Board> board;
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    comm.barrier();
    if (comm.rank() == 1) {
      eventually([&] { return board->ready == 1; });
      std::this_thread::sleep_for(20ms);
      raise(SIGKILL);
    }
    if (comm.rank() == 0) {
      // The only one between the others in a tree.
      eventually([&] { return board->go.load(); });
      return outcome_of([&] { comm.barrier(); });
    }
    ++board->ready;
    const std::string words = outcome_of([&] { comm.barrier(); });
    board->go = true;
    return words;
  });
  EXPECT_EQ(ranks[2].words(), killed(1));
  EXPECT_EQ(ranks[0].words(), killed(1));
}

TEST_P(Death, InTheMiddleOfALargeMessageIsNamed) {
  for (const std::size_t victim : {0U, 2U}) {
    auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
      std::vector<double> data(4'000'000, 1.0);
      if (comm.rank() == victim) {
        std::thread([] {
          std::this_thread::sleep_for(15ms);
          raise(SIGKILL);
        }).detach();
      }
      return outcome_of([&] {
        for (int i = 0; i < 1000; ++i) comm.allreduce_inplace(data, ReduceOp::Max);
      });
    });
    for (std::size_t rank = 0; rank < 3; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(ranks[rank].words(), killed(victim)) << "rank " << rank;
    }
  }
}

TEST_P(Death, OfARankThatLeftCleanlyMattersOnlyForOperationsThatItDidNotJoin) {
  test::Shared<Board> board;
  std::vector<test::Process> ranks;
  for (const auto& make : GetParam().ranks(4, {})) {
    ranks.emplace_back([&]() -> std::string {
      std::vector<double> data(100);
      std::string joined;
      std::string alone;
      {
        const CommBackend comm = make();
        std::ranges::fill(data, static_cast<double>(comm.rank()));
        joined = outcome_of([&] {
          for (int i = 0; i < 10; ++i) comm.broadcast(data, 2);
          comm.barrier();
        });
        if (comm.rank() != 2) {
          if (data[50] != 2.0) return "wrong data";
          eventually([&] { return board->go.load(); });
          alone = "; " + outcome_of([&] { comm.barrier(); });
          ++board->ready;
        }
      }
      // The process stays: it is the communicator that has gone.
      board->go = true;
      eventually([&] { return board->ready == 3; });
      return joined + alone;
    });
  }
  for (const std::size_t rank : {0U, 1U, 3U}) EXPECT_EQ(ranks[rank].words(), "fine; " + left(2)) << "rank " << rank;
  EXPECT_EQ(ranks[2].words(), "fine");
}

// The communicator of one rank ends before those of the others; its process stays until they have noticed.
TEST_P(Death, ByExceptionLooksLikeLeaving) {
  test::Shared<Board> board;
  std::vector<test::Process> ranks;
  for (const auto& make : GetParam().ranks(3, {})) {
    ranks.emplace_back([&]() -> std::string {
      std::string words;
      bool threw = false;
      try {
        const CommBackend comm = make();
        if (comm.rank() == 2) {
          eventually([&] { return board->ready == 2; });
          threw = true;
          throw std::runtime_error("no more");
        }
        ++board->ready;
        words = outcome_of([&] { comm.barrier(); });
      } catch (const std::runtime_error& error) {
        words = error.what();
      }
      if (threw) eventually([&] { return board->ready == 4; });
      ++board->ready;
      return words;
    });
  }
  EXPECT_EQ(ranks[0].words(), left(2));
  EXPECT_EQ(ranks[1].words(), left(2));
  EXPECT_EQ(ranks[2].words(), "no more");
}

TEST_P(Death, OfABroadcastReaderIsNoticedByARootThatOnlySends) {
  test::Shared<test::Meeting> met;
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    comm.barrier();
    met->wait_for(3);
    if (comm.rank() == 2) raise(SIGKILL);
    return outcome_of([&] {
      for (int i = 0; i < 1000; ++i) (void)comm.broadcast(i, 0);
      comm.barrier();
    });
  });
  EXPECT_EQ(ranks[0].words(), killed(2));
  EXPECT_EQ(ranks[1].words(), killed(2));
}

// And soon: half of the times at least, on a machine that has other things to do now and then.
TEST_P(Death, AtARandomMomentOfAnyOperationIsNamedByEveryOtherRank) {
  std::mt19937 draw(7);
  std::vector<double> seconds;
  for (int round = 0; round < 25; ++round) {
    test::Shared<Board> board;
    const std::size_t size = 2 + draw() % 4;
    auto ranks = start(size, [&](const CommBackend& comm) -> std::string {
      comm.barrier();
      ++board->ready;
      const std::string words = outcome_of([&] {
        std::mt19937 same_everywhere(11);
        for (;;) {
          const std::size_t count = same_everywhere() % 4 == 0 ? same_everywhere() % 40'000 : same_everywhere() % 100;
          const std::size_t root = same_everywhere() % comm.size();
          std::vector<double> data(count, 1.0);
          std::vector<double> other(count);
          switch (same_everywhere() % 8) {
            case 0: comm.barrier(); break;
            case 1: comm.broadcast(data, root); break;
            case 2: comm.allreduce_inplace(data, ReduceOp::Max); break;
            case 3: (void)comm.gatherv(data, root); break;
            case 4: {
              std::vector<std::size_t> counts(comm.size(), 0);
              counts[root] = count;
              (void)comm.alltoallv(data, counts);
              break;
            }
            case 5: comm.reduce(data, other, ReduceOp::Sum, root); break;
            case 6: comm.scan(data, other, ReduceOp::Sum); break;
            default: (void)comm.allgatherv(data); break;
          }
        }
      });
      board->note_detection();
      return words;
    });
    eventually([&] { return board->ready == static_cast<int>(size); });
    std::this_thread::sleep_for(std::chrono::microseconds(draw() % 30'000));
    const std::size_t victim = draw() % size;
    board->note_death();
    ranks[victim].signal(SIGKILL);
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(ranks[rank].words(), killed(victim)) << "round " << round;
    }
    seconds.push_back(board->seconds());
  }
  std::ranges::sort(seconds);
  EXPECT_LT(seconds[seconds.size() / 2], 0.1);
  std::printf("until all knew: %.4f s, at most %.4f s\n", seconds[seconds.size() / 2], seconds.back());
}

// Rank 3 never comes; another one comes and is killed while all wait for it.
TEST_P(Death, DuringStartUpIsNamedByThoseThatHaveCome) {
  for (const std::size_t victim : {2U, 0U}) {
    const auto makers = GetParam().ranks(4, {});
    std::vector<test::Process> ranks;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      ranks.emplace_back([&makers, rank] { return outcome_of([&] { (void)makers[rank](); }); });
      ranks.back().await_rest();
      ranks.front().await_rest();  // it has let the other in
    }
    ranks[victim].signal(SIGKILL);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(ranks[rank].words(), left(victim)) << "rank " << rank;
    }
  }
}

// Parts watch the processes of their own ranks, and those alone.
TEST_P(Death, BreaksThePartsOfTheDeadAndNoOthers) {
  test::Shared<Board> board;
  auto ranks = start(4, [&](const CommBackend& comm) { return fault::lose_a_rank_of_a_part(comm, board->ready); });
  EXPECT_EQ(ranks[0].words(), killed(0) + "; InvalidCommunicator; " + killed(1));
  for (const std::size_t rank : {2U, 3U}) EXPECT_EQ(ranks[rank].words(), "fine; fine; " + killed(1));
}

// Rank 1 hears of it where rank 0 is not, and is gone before rank 0 looks: that is not what has failed.
TEST_P(Death, SeenFirstInADuplicateIsNamedByThoseWhoMissWhoeverLeftBecauseOfIt) {
  test::Shared<test::Meeting> met;
  test::Shared<Board> board;
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    const auto duplicate = comm.split(0);
    comm.barrier();
    met->wait_for(3);
    if (comm.rank() == 2) raise(SIGKILL);
    if (comm.rank() == 1) return outcome_of([&] { duplicate->barrier(); });
    eventually([&] { return board->go.load(); });
    return outcome_of([&] { comm.barrier(); });
  });
  EXPECT_EQ(ranks[1].words(), killed(2));
  board->go = true;
  EXPECT_EQ(ranks[0].words(), killed(2));
}

// The same where rank 1 does not die: it has left one duplicate, and has not come to leaving the other one yet.
TEST_P(Death, OfOneDuplicateIsNamedByThoseWhoMissInAnotherOneWhoeverLeftBecauseOfIt) {
  test::Shared<Board> board;
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    auto one = comm.split(0);
    auto other = comm.split(0);
    comm.barrier();
    if (comm.rank() == 0) return outcome_of([&] { other->barrier(); });
    std::string words = "left";
    if (comm.rank() == 2) words = outcome_of([&] { one->barrier(); });
    one.reset();
    if (comm.rank() == 1) eventually([&] { return board->go.load(); });
    other.reset();
    eventually([&] { return board->go.load(); });  // the third one goes on for everybody
    return words;
  });
  EXPECT_EQ(ranks[0].words(), "PeerFailed 1");
  board->go = true;
  EXPECT_EQ(ranks[1].words(), "left");
  EXPECT_EQ(ranks[2].words(), "PeerFailed 1");
}

// With what its process ended may be known by then, or not.
bool names(const std::string& words, const std::string& left) {
  return words == left || words == left + " exit 0";
}

// Nobody is in an operation of all, so nobody is told of it: each waits for a message of the rank before it, and
// leaves. Where that one spoke for its host, the last one hears of the others from somebody else.
TEST_P(Death, ToldByAMessageIsNamedByThoseWhoWaitForAMessageOfWhoeverLeftBecauseOfIt) {
  for (const std::size_t size : {3U, 4U}) {
    test::Shared<test::Meeting> met;
    auto ranks = start(size, [&](const CommBackend& comm) -> std::string {
      comm.barrier();
      met->wait_for(comm.size());
      if (comm.rank() == 0) return "left";
      int word = 0;
      return outcome_of([&] { comm.recv(std::span(&word, 1), comm.rank() - 1); });
    });
    for (std::size_t rank = 1; rank < size; ++rank)
      EXPECT_PRED2(names, ranks[rank].words(), left(0)) << rank << " of " << size;
  }
}

// The memory of a host is no affair of the other ones, until a rank gives up because of what happened there.
TEST_P(Death, InTheMemoryOfAHostIsNamedByOtherHostsWhoMissWhoeverLeftBecauseOfIt) {
  if (!GetParam().regions_are_shared) return;  // each rank fences memory of its own
  test::Shared<Board> board;
  auto ranks = start(4, [&](const CommBackend& comm) -> std::string {
    const auto region = comm.create_shared_region<int>(3);
    if (comm.rank() == 1) return "left";
    if (comm.rank() == 0) return outcome_of([&] { region.fence(); });
    eventually([&] { return board->go.load(); });
    return outcome_of([&] { comm.barrier(); });
  });
  EXPECT_EQ(ranks[1].words(), "left");
  EXPECT_PRED2(names, ranks[0].words(), left(1));
  board->go = true;
  for (const std::size_t rank : {2U, 3U}) EXPECT_PRED2(names, ranks[rank].words(), left(1)) << rank;
}

TEST_P(Death, DuringASplitIsNamedByEveryOtherRank) {
  test::Shared<test::Meeting> met;
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    comm.barrier();
    met->wait_for(3);
    if (comm.rank() == 2) raise(SIGKILL);
    return outcome_of([&] { (void)comm.split(0); });
  });
  EXPECT_EQ(ranks[0].words(), killed(2));
  EXPECT_EQ(ranks[1].words(), killed(2));
}

TEST_P(Death, ByAbortOfAPartEndsTheRanksOutsideOfItToo) {
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    const auto part = comm.split(comm.rank() == 0 ? 0 : 1);
    comm.barrier();
    if (comm.rank() == 0) part->abort(7);
    eventually([] { return false; });
    return "still here";
  });
  for (auto& rank : ranks) EXPECT_NE(rank.words(), "still here");
  EXPECT_EQ(WEXITSTATUS(ranks[0].await_end()), 7);
}

TEST_P(Death, IsThrownByTheWaitOfARequestAndOfAPlan) {
  test::Shared<Board> board;
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    std::vector<double> data(1000, 1.0);
    std::vector<double> sums(1000);
    auto plan = comm.allreduce_init(data, sums, ReduceOp::Sum);
    for (int lane = 0; lane < 4; ++lane) comm.ibarrier().wait();  // each is made when it is first needed, by all
    if (comm.rank() == 2) {
      eventually([&] { return board->ready == 2; });
      raise(SIGKILL);
    }
    auto request = comm.iallreduce_inplace(data, ReduceOp::Sum);
    ++board->ready;
    const std::string first = outcome_of([&] { request.wait(); });
    plan.start();
    const std::string second = outcome_of([&] { plan.wait(); });
    return first + "; " + second + "; " + outcome_of([&] { plan.start(), plan.wait(); });
  });
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(ranks[rank].words(), killed(2) + "; " + killed(2) + "; InvalidCommunicator");
  }
}

TEST_P(Death, IsThrownByTheWaitOfARequestWhoseLaneItCameBefore) {
  test::Shared<Board> board;
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    if (comm.rank() == 2) {
      eventually([&] { return board->ready == 2; });
      raise(SIGKILL);
    }
    std::vector<double> data(1000, 1.0);
    auto request = comm.iallreduce_inplace(data, ReduceOp::Sum);  // makes its lane, for which all are needed
    auto next = comm.ibarrier();
    ++board->ready;
    const std::string first = outcome_of([&] { request.wait(); });
    return first + "; " + outcome_of([&] { next.wait(); }) + "; " + outcome_of([&] { comm.barrier(); });
  });
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(ranks[rank].words(), killed(2) + "; InvalidCommunicator; InvalidCommunicator");
  }
}

TEST_P(Death, IsWhatAnExceptionBringsThatDropsAnOperationWhichOthersDoNotJoin) {
  auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
    std::vector<double> data(1000, 1.0);
    std::vector<double> sums(1000);
    auto plan = comm.allreduce_init(data, sums, ReduceOp::Sum);
    if (comm.rank() == 1) {
      eventually([] { return false; });
      return outcome_of([&] { comm.barrier(); });
    }
    return outcome_of([&] {
      auto dropped = std::move(plan);
      dropped.start();
      throw std::runtime_error("of something else");
    });
  });
  EXPECT_EQ(ranks[0].words(), "");
  EXPECT_EQ(WEXITSTATUS(ranks[0].await_end()), 1);
  EXPECT_EQ(ranks[1].words(), "");
}

TEST_P(Death, LeavesNoDescriptorNoThreadAndNoMappingBehind) {
  const auto count = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  };
  const auto first = GetParam().ranks(3, {});
  const auto again = GetParam().ranks(3, {});
  std::vector<test::Process> ranks;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank]() -> std::string {
      const auto before = count("/proc/self/fd");
      std::string words;
      {
        const CommBackend comm = first[rank]();
        comm.barrier();
        words = rank == 1 ? "left" : outcome_of([&] { comm.barrier(); });
      }
      { again[rank]().barrier(); }
      // A thread that has been joined stands there for a moment.
      const bool alone = eventually([&] { return count("/proc/self/task") == 1; }, 1s);
      if (count("/proc/self/fd") != before || !alone) return "left something behind";
      return words;
    });
  }
  EXPECT_EQ(ranks[0].words(), left(1));
  EXPECT_EQ(ranks[1].words(), "left");
  EXPECT_EQ(ranks[2].words(), left(1));
}

class Fork : public fault::OnBackends {};
INSTANTIATE_TEST_SUITE_P(On, Fork, testing::ValuesIn(fault::backends()), fault::name_of);

TEST_P(Fork, LeavesTheRankToItsParent) {
  auto ranks = start(2, [](const CommBackend& comm) -> std::string {
    auto region = comm.create_shared_region<int>(4);
    std::string child_says;
    {
      test::Process child([&]() -> std::string {
        std::string words = outcome_of([&] { comm.barrier(); });
        auto stolen = std::move(const_cast<CommBackend&>(comm));  // ends the communicator here, in the child
        return words;
      });
      child_says = child.words();
    }
    const int sum = comm.allreduce(1, ReduceOp::Sum);
    return child_says + " " + std::to_string(sum);
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "InvalidCommunicator 2");
}

TEST_P(Fork, DoesNotKeepADeadRankAliveForItsPeers) {
  struct Orphan {
    std::atomic<pid_t> pid{0};
  };
  test::Shared<Orphan> orphan;
  test::Shared<test::Meeting> met;
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    comm.barrier();
    met->wait_for(3);
    if (comm.rank() == 1) {
      const pid_t child = fork();
      if (child == 0) {
        std::this_thread::sleep_for(20s);
        _exit(0);
      }
      orphan->pid = child;
      raise(SIGKILL);
    }
    return outcome_of([&] { comm.barrier(); });
  });
  for (const std::size_t rank : {0U, 2U}) EXPECT_EQ(ranks[rank].words(), killed(1)) << "rank " << rank;
  EXPECT_EQ(kill(orphan->pid, SIGKILL), 0);  // it was there all the time
}

}  // namespace
