// A variable where a buffer could be: persistent operations and those in place borrow it, as they borrow buffers.
#include "ferrompi/ranks.hpp"

using namespace ferrompi;

namespace {

class OneValue : public Ranks {
 protected:
  static constexpr int rounds = 3;

  // Each round begins with `x` and `values` of its own.
  template <class Expect>
  void run(PersistentRequest plan, Expect expect) {
    for (int round = 0; round < rounds; ++round) {
      fill(round);
      plan.start();
      plan.wait();
      expect(round);
    }
  }

  void fill(int round) {
    x = 10 * rank + round;
    y = -1;
    for (std::size_t r = 0; r < ranks; ++r) values[r] = 100 * rank + 10 * static_cast<int>(r) + round;
  }

  // Of `x` over ranks 0 to `last`.
  static int sum(int last, int round) { return 5 * last * (last + 1) + (last + 1) * round; }
  // Of what every rank has for this one in `values`.
  int sum_for_this(int round) const { return 50 * size * (size - 1) + size * (10 * rank + round); }

  const int last = size - 1;
  int x = 0;
  int y = 0;
  std::vector<int> values = std::vector<int>(ranks);
  const std::vector<int> counts = std::vector<int>(ranks, 1);
  const std::vector<int> displs = displacements(counts);
};

}  // namespace

TEST_F(OneValue, IsABufferOfAPlan) {
  const auto op = ReduceOp::Sum;
  run(world.broadcast_init(x, last), [&](int round) { EXPECT_EQ(x, 10 * last + round); });
  run(world.reduce_init(x, y, op, last), [&](int round) { EXPECT_EQ(y, rank == last ? sum(last, round) : -1); });
  run(world.allreduce_init(x, y, op), [&](int round) { EXPECT_EQ(y, sum(last, round)); });
  run(world.scan_init(x, y, op), [&](int round) { EXPECT_EQ(y, sum(rank, round)); });
  run(world.exscan_init(x, y, op), [&](int round) { EXPECT_EQ(y, rank == 0 ? -1 : sum(rank - 1, round)); });
  run(world.allreduce_init(
          x, y, [](int a, int b) { return a + b; }, Info::null()),
      [&](int round) { EXPECT_EQ(y, sum(last, round)); });
}

TEST_F(OneValue, IsTheBlockOfThisRankInAPlan) {
  const auto op = ReduceOp::Sum;
  const auto expect_gathered = [&](int round) {
    for (int r = 0; r < size; ++r) EXPECT_EQ(values[static_cast<std::size_t>(r)], 10 * r + round);
  };
  const auto expect_gathered_on_last = [&](int round) {
    if (rank == last) expect_gathered(round);
  };
  const auto expect_scattered = [&](int round) { EXPECT_EQ(y, 100 * last + 10 * rank + round); };
  run(world.gather_init(x, values, last), expect_gathered_on_last);
  run(world.gatherv_init(x, values, counts, displs, last), expect_gathered_on_last);
  run(world.allgather_init(x, values), expect_gathered);
  run(world.allgatherv_init(x, values, counts, displs), expect_gathered);
  run(world.scatter_init(values, y, last), expect_scattered);
  run(world.scatterv_init(values, counts, displs, y, last), expect_scattered);
  run(world.reduce_scatter_block_init(values, y, op), [&](int round) { EXPECT_EQ(y, sum_for_this(round)); });
  run(world.reduce_scatter_init(values, y, counts, op), [&](int round) { EXPECT_EQ(y, sum_for_this(round)); });
}

TEST_F(OneValue, MayStayInItsPlace) {
  const auto op = ReduceOp::Sum;
  const auto expect_all = [&](int round) { EXPECT_EQ(x, sum(last, round)); };
  const auto expect_last = [&](int round) { EXPECT_EQ(x, rank == last ? sum(last, round) : 10 * rank + round); };
  const auto expect_before = [&](int round) { EXPECT_EQ(x, sum(rank, round)); };
  run(world.allreduce_init_inplace(x, op), expect_all);
  run(world.reduce_init_inplace(x, op, last), expect_last);
  run(world.scan_init_inplace(x, op), expect_before);
  run(world.exscan_init_inplace(x, op), [&](int round) { EXPECT_EQ(x, rank == 0 ? round : sum(rank - 1, round)); });
  fill(7);
  world.allreduce_inplace(x, op);
  expect_all(7);
  fill(8);
  world.iallreduce_inplace(x, op).wait();
  expect_all(8);
  fill(9);
  world.reduce_inplace(x, op, last);
  expect_last(9);
  fill(10);
  world.ireduce_inplace(x, op, last).wait();
  expect_last(10);
  fill(11);
  world.scan_inplace(x, [](int a, int b) { return a + b; });
  expect_before(11);
  fill(12);
  world.iscan_inplace(x, op).wait();
  expect_before(12);
}

// The root passes all blocks, and the others theirs, which may be a variable.
TEST_F(OneValue, IsTheOwnPartOfARankThatIsNotTheRoot) {
  const auto gather = [&](auto& buffer, bool blocking) {
    if (blocking) return world.gather_inplace(buffer, last);
    world.igather_inplace(buffer, last).wait();
  };
  const auto scatter = [&](auto& buffer, bool blocking) {
    if (blocking) return world.scatter_inplace(buffer, last);
    world.iscatter_inplace(buffer, last).wait();
  };
  for (int round = 0; round < 2; ++round) {
    const bool blocking = round == 0;
    fill(round);
    if (rank == last) {
      values[self] = x;
      gather(values, blocking);
      for (int r = 0; r < size; ++r) EXPECT_EQ(values[static_cast<std::size_t>(r)], 10 * r + round);
    } else {
      gather(x, blocking);
    }
    fill(round);
    if (rank == last) {
      scatter(values, blocking);
    } else {
      scatter(y, blocking);
      EXPECT_EQ(y, 100 * last + 10 * rank + round);
    }
  }
}

TEST_F(OneValue, IsReplacedByTheOneThatComes) {
  x = rank;
  const auto status = world.sendrecv_replace(x, next, 3, previous, 3);
  EXPECT_EQ(x, previous);
  EXPECT_EQ(status.source(), previous);
  EXPECT_EQ(status.count(), 1U);
}

TEST_F(OneValue, IsReceivedFromAMatchedMessage) {
  auto first = world.isend(10 * rank, next, 4);
  auto message = world.mprobe(previous, 4);
  EXPECT_EQ(message.recv(x).count(), 1U);
  EXPECT_EQ(x, 10 * previous);
  auto second = world.isend(10 * rank + 1, next, 4);
  auto another = world.mprobe(previous, 4);
  auto receive = another.irecv(y);
  EXPECT_EQ(receive.wait().source(), previous);
  EXPECT_EQ(y, 10 * previous + 1);
  (void)first.get();
  (void)second.get();
}

TEST_F(OneValue, ThatCannotChangeMayBeSentAgainAndAgain) {
  const int fixed = rank;
  std::vector<PersistentRequest> plans;
  plans.push_back(world.recv_init(x, previous, 5));
  plans.push_back(world.send_init(fixed, next, 5));
  plans.push_back(world.allreduce_init(fixed, y, ReduceOp::Max));
  for (int round = 0; round < rounds; ++round) {
    x = y = -1;
    start_all(plans);
    wait_all(plans);
    EXPECT_EQ(x, previous);
    EXPECT_EQ(y, last);
  }
}
