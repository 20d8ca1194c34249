// More elements than an int can count in reductions, in every form, in place and between buffers.
#include "ferrompi/large.hpp"

using namespace ferrompi;
using namespace large;

namespace {

constexpr auto add = [](Byte a, Byte b) { return static_cast<Byte>(a + b); };

class LargeReductions : public Large {
 protected:
  Bytes data{n};

  void fill(int round) { data.fill(0, n, rank, round); }
  void expect_sum(int round) {
    const auto sum = [=](std::size_t i) { return static_cast<Byte>(pattern(i, 0, round) + pattern(i, 1, round)); };
    EXPECT_EQ(data.first_difference(0, n, sum), n) << "round " << round;
  }
  void expect_from(int sender, int round) { EXPECT_EQ(data.matches(0, n, sender, round), n) << "round " << round; }
};

class LargeReductionsElsewhere : public LargeReductions {
 protected:
  Input send{n};

  template <class Look, class B, class I, class P>
  void run_elsewhere(Look look, B blocking, I nonblocking, P persistent) {
    const auto refill = [&](int round) {
      send.fill(rank, round);
      data.clear();
    };
    const auto look_at_both = [&](int round) {
      look(round);
      EXPECT_EQ(send.matches(rank, round), n) << "the input, round " << round;
    };
    run(refill, look_at_both, blocking, nonblocking, persistent);
  }
};

// Blocks of a sum that are shared out.
class LargeShares : public Large {
 protected:
  void expect_own_block(Bytes& result, std::size_t block, int round) const {
    const auto from = self * block;
    const auto sum = [=](std::size_t i) {
      return static_cast<Byte>(pattern(from + i, 0, round) + pattern(from + i, 1, round));
    };
    EXPECT_EQ(result.first_difference(0, block, sum, from), block) << "round " << round;
  }

  template <class Fill>
  void share_out(std::size_t block, Fill fill, std::span<const Byte> send, Bytes& recv) {
    run(
        fill, [&](int round) { expect_own_block(recv, block, round); },
        [&] { world.reduce_scatter_block(send, recv.all(), ReduceOp::Sum); },
        [&] { return world.ireduce_scatter_block(send, recv.all(), ReduceOp::Sum); },
        [&] { return world.reduce_scatter_block_init(send, recv.all(), ReduceOp::Sum); });
  }
};

}  // namespace

TEST_F(LargeReductions, OverAllRanksCombineEveryElement) {
  run([&](int round) { fill(round); }, [&](int round) { expect_sum(round); },
      [&] { world.allreduce_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.iallreduce_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.allreduce_init_inplace(data.all(), ReduceOp::Sum); });
}

TEST_F(LargeReductions, ByACallableCombineEveryElement) {
  run([&](int round) { fill(round); }, [&](int round) { expect_sum(round); },
      [&] { world.allreduce_inplace(data.all(), add); }, [&] { return world.iallreduce_inplace(data.all(), add); },
      [&] { return world.allreduce_init_inplace(data.all(), add); });
}

TEST_F(LargeReductions, ByACallableToARootCombineEveryElement) {
  const auto look = [&](int round) { rank == 1 ? expect_sum(round) : expect_from(0, round); };
  run([&](int round) { fill(round); }, look, [&] { world.reduce_inplace(data.all(), add, 1); },
      [&] { return world.ireduce_inplace(data.all(), add, 1); },
      [&] { return world.reduce_init_inplace(data.all(), add, 1); });
}

TEST_F(LargeReductions, ByACallableOverLowerRanksCombineEveryElement) {
  const auto look = [&](int round) { rank == 1 ? expect_sum(round) : expect_from(0, round); };
  run([&](int round) { fill(round); }, look, [&] { world.scan_inplace(data.all(), add); },
      [&] { return world.iscan_inplace(data.all(), add); }, [&] { return world.scan_init_inplace(data.all(), add); });
}

TEST_F(LargeReductions, ByACallableWithoutTheOwnRankCombineEveryElement) {
  run([&](int round) { fill(round); }, [&](int round) { expect_from(0, round); },
      [&] { world.exscan_inplace(data.all(), add); }, [&] { return world.iexscan_inplace(data.all(), add); },
      [&] { return world.exscan_init_inplace(data.all(), add); });
}

TEST_F(LargeReductions, ToARootCombineEveryElement) {
  const auto look = [&](int round) { rank == 1 ? expect_sum(round) : expect_from(0, round); };
  run([&](int round) { fill(round); }, look, [&] { world.reduce_inplace(data.all(), ReduceOp::Sum, 1); },
      [&] { return world.ireduce_inplace(data.all(), ReduceOp::Sum, 1); },
      [&] { return world.reduce_init_inplace(data.all(), ReduceOp::Sum, 1); });
}

TEST_F(LargeReductions, OverLowerRanksCombineEveryElement) {
  const auto look = [&](int round) { rank == 1 ? expect_sum(round) : expect_from(0, round); };
  run([&](int round) { fill(round); }, look, [&] { world.scan_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.iscan_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.scan_init_inplace(data.all(), ReduceOp::Sum); });
}

TEST_F(LargeReductions, WithoutTheOwnRankCombineEveryElement) {
  run([&](int round) { fill(round); }, [&](int round) { expect_from(0, round); },
      [&] { world.exscan_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.iexscan_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.exscan_init_inplace(data.all(), ReduceOp::Sum); });
}

TEST_F(LargeReductionsElsewhere, OverAllRanksLeaveTheirInputAlone) {
  run_elsewhere([&](int round) { expect_sum(round); }, [&] { world.allreduce(send.all(), data.all(), ReduceOp::Sum); },
                [&] { return world.iallreduce(send.all(), data.all(), ReduceOp::Sum); },
                [&] { return world.allreduce_init(send.all(), data.all(), ReduceOp::Sum); });
}

TEST_F(LargeReductionsElsewhere, ToARootLeaveTheirInputAlone) {
  const auto look = [&](int round) {
    if (rank == 1) expect_sum(round);
  };
  run_elsewhere(
      look, [&] { world.reduce(send.all(), data.all(), ReduceOp::Sum, 1); },
      [&] { return world.ireduce(send.all(), data.all(), ReduceOp::Sum, 1); },
      [&] { return world.reduce_init(send.all(), data.all(), ReduceOp::Sum, 1); });
}

TEST_F(LargeReductionsElsewhere, OverLowerRanksLeaveTheirInputAlone) {
  const auto look = [&](int round) { rank == 1 ? expect_sum(round) : expect_from(0, round); };
  run_elsewhere(
      look, [&] { world.scan(send.all(), data.all(), ReduceOp::Sum); },
      [&] { return world.iscan(send.all(), data.all(), ReduceOp::Sum); },
      [&] { return world.scan_init(send.all(), data.all(), ReduceOp::Sum); });
}

TEST_F(LargeReductionsElsewhere, WithoutTheOwnRankLeaveTheirInputAlone) {
  const auto look = [&](int round) {
    if (rank == 1) expect_from(0, round);
  };
  run_elsewhere(
      look, [&] { world.exscan(send.all(), data.all(), ReduceOp::Sum); },
      [&] { return world.iexscan(send.all(), data.all(), ReduceOp::Sum); },
      [&] { return world.exscan_init(send.all(), data.all(), ReduceOp::Sum); });
}

TEST_F(Large, PartsOfASumAreSharedOut) {
  Bytes data(n + 3);
  const auto fill = [&](int round) { data.fill(0, n + 3, rank, round); };
  const auto look_at = [&](Bytes& result, int round) {
    const auto from = rank == 0 ? 0 : n;
    const auto sum = [=](std::size_t i) {
      return static_cast<Byte>(pattern(from + i, 0, round) + pattern(from + i, 1, round));
    };
    EXPECT_EQ(result.first_difference(0, counts[self], sum, from), counts[self]) << "round " << round;
  };
  const auto look = [&](int round) { look_at(data, round); };
  run(
      fill, look, [&] { world.reduce_scatter_inplace(data.all(), counts, ReduceOp::Sum); },
      [&] { return world.ireduce_scatter_inplace(data.all(), counts, ReduceOp::Sum); },
      [&] { return world.reduce_scatter_init_inplace(data.all(), counts, ReduceOp::Sum); });
  fill(7);
  world.reduce_scatter_inplace(data.all(), counts, add);
  look(7);
  Bytes recv(counts[self]);
  const auto refill = [&](int round) {
    fill(round);
    recv.clear();
  };
  const auto look_there = [&](int round) { look_at(recv, round); };
  run(
      refill, look_there, [&] { world.reduce_scatter(data.all(), recv.all(), counts, ReduceOp::Sum); },
      [&] { return world.ireduce_scatter(data.all(), recv.all(), counts, ReduceOp::Sum); },
      [&] { return world.reduce_scatter_init(data.all(), recv.all(), counts, ReduceOp::Sum); });
}

TEST_F(LargeShares, OfBlocksThatAreTogetherMoreThanAnIntCountsAreRight) {
  const auto block = n / 2 + 1;
  Bytes data(2 * block);
  const auto fill = [&](int round) { data.fill(0, 2 * block, rank, round); };
  run(
      fill, [&](int round) { expect_own_block(data, block, round); },
      [&] { world.reduce_scatter_block_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.ireduce_scatter_block_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.reduce_scatter_block_init_inplace(data.all(), ReduceOp::Sum); });
  Bytes recv(block);
  const auto refill = [&](int round) {
    fill(round);
    recv.clear();
  };
  share_out(block, refill, data.all(), recv);
  refill(7);
  world.reduce_scatter_block(data.all(), recv.all(), add);
  expect_own_block(recv, block, 7);
}

TEST_F(LargeShares, OfBlocksThatAreEachMoreThanAnIntCountsAreRight) {
  Input send(2 * n);
  Bytes recv(n);
  const auto fill = [&](int round) {
    send.fill(rank, round);
    recv.clear();
  };
  share_out(n, fill, send.all(), recv);
}
