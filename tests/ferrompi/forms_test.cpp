// Every collective operation in every form: blocking, nonblocking and persistent, with and without MPI_IN_PLACE, over
// several rounds with changed data, from one element to a megabyte, with the first and the last rank as root.
#include "ferrompi/ranks.hpp"

#include <chrono>
#include <numeric>

using namespace ferrompi;

namespace {

using Buffer = std::vector<double>;

constexpr int rounds = 4;  // a persistent operation that keeps old state shows it at the second or third start

std::vector<std::size_t> lengths() {
  return {1, 1001, 131072};
}

// A value that tells who wrote it, where, and in which round.
double value(int rank, std::size_t place, int round) {
  return 1000.0 * rank + static_cast<double>(place % 997) + 1e6 * (round + 1);
}

class Forms : public Ranks {
 protected:
  std::vector<int> roots() const { return size == 1 ? std::vector<int>{0} : std::vector<int>{0, size - 1}; }

  // What rank `r` contributes in a round.
  Buffer contribution(int r, std::size_t length, int round) const {
    Buffer data(length);
    for (std::size_t i = 0; i < length; ++i) data[i] = value(r, i, round);
    return data;
  }

  // The element-by-element sum over ranks [first, last).
  Buffer sum(int first, int last, std::size_t length, int round) const {
    Buffer total(length, 0.0);
    for (int r = first; r < last; ++r) {
      const auto part = contribution(r, length, round);
      std::transform(total.begin(), total.end(), part.begin(), total.begin(), std::plus<>());
    }
    return total;
  }

  // All contributions one behind the other.
  Buffer all(std::size_t length, int round) const {
    Buffer data;
    for (int r = 0; r < size; ++r) {
      const auto part = contribution(r, length, round);
      data.insert(data.end(), part.begin(), part.end());
    }
    return data;
  }
};

Buffer slice(const Buffer& data, std::size_t from, std::size_t count) {
  const auto begin = data.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

// Runs the three forms of one operation: `fill(round)` sets the buffers up, `expect(round, form)` looks at them.
#define RUN_FORMS(name, suffix, fill, expect, ...)       \
  do {                                                   \
    for (int round = 0; round < 2; ++round) {            \
      fill(round);                                       \
      world.name##suffix(__VA_ARGS__);                   \
      expect(round, #name #suffix);                      \
      fill(round + 10);                                  \
      auto request = world.i##name##suffix(__VA_ARGS__); \
      request.wait();                                    \
      expect(round + 10, "i" #name #suffix);             \
    }                                                    \
    auto plan = world.name##_init##suffix(__VA_ARGS__);  \
    for (int round = 0; round < rounds; ++round) {       \
      EXPECT_FALSE(plan.is_active());                    \
      fill(round + 20);                                  \
      plan.start();                                      \
      EXPECT_TRUE(plan.is_active());                     \
      plan.wait();                                       \
      expect(round + 20, #name "_init" #suffix);         \
    }                                                    \
  } while (false)

TEST_F(Forms, BroadcastGivesEveryoneWhatTheRootHas) {
  for (const auto length : lengths()) {
    for (const int root : roots()) {
      Buffer data(length);
      const auto fill = [&](int round) { std::ranges::copy(contribution(rank, length, round), data.begin()); };
      const auto expect = [&](int round, const char* form) {
        ASSERT_EQ(data, contribution(root, length, round)) << form << " of " << length << " from " << root;
      };
      RUN_FORMS(broadcast, , fill, expect, data, root);
    }
  }
}

TEST_F(Forms, AllreduceGivesEveryoneTheSum) {
  for (const auto length : lengths()) {
    Buffer send(length);
    Buffer recv(length);
    const auto fill = [&](int round) {
      std::ranges::copy(contribution(rank, length, round), send.begin());
      std::ranges::fill(recv, -1);
    };
    const auto expect = [&](int round, const char* form) {
      ASSERT_EQ(recv, sum(0, size, length, round)) << form << " of " << length;
    };
    RUN_FORMS(allreduce, , fill, expect, send, recv, ReduceOp::Sum);
    const auto expect_in_place = [&](int round, const char* form) {
      ASSERT_EQ(send, sum(0, size, length, round)) << form << " of " << length;
    };
    RUN_FORMS(allreduce, _inplace, fill, expect_in_place, send, ReduceOp::Sum);
  }
}

TEST_F(Forms, ReduceGivesTheRootTheSumAndIgnoresOtherReceiveBuffers) {
  for (const auto length : lengths()) {
    for (const int root : roots()) {
      Buffer send(length);
      Buffer recv(rank == root ? length : 0);
      const auto fill = [&](int round) {
        std::ranges::copy(contribution(rank, length, round), send.begin());
        std::ranges::fill(recv, -1);
      };
      const auto expect = [&](int round, const char* form) {
        if (rank == root) {
          ASSERT_EQ(recv, sum(0, size, length, round)) << form << " of " << length << " to " << root;
        }
        ASSERT_EQ(send, contribution(rank, length, round)) << form;
      };
      RUN_FORMS(reduce, , fill, expect, send, recv, ReduceOp::Sum, root);
      const auto expect_in_place = [&](int round, const char* form) {
        const auto expected = rank == root ? sum(0, size, length, round) : contribution(rank, length, round);
        ASSERT_EQ(send, expected) << form << " of " << length << " to " << root;
      };
      RUN_FORMS(reduce, _inplace, fill, expect_in_place, send, ReduceOp::Sum, root);
    }
  }
}

TEST_F(Forms, ScanGivesTheSumUpToAndWithThisRank) {
  for (const auto length : lengths()) {
    Buffer send(length);
    Buffer recv(length);
    const auto fill = [&](int round) {
      std::ranges::copy(contribution(rank, length, round), send.begin());
      std::ranges::fill(recv, -1);
    };
    const auto expect = [&](int round, const char* form) {
      ASSERT_EQ(recv, sum(0, rank + 1, length, round)) << form << " of " << length;
    };
    RUN_FORMS(scan, , fill, expect, send, recv, ReduceOp::Sum);
    const auto expect_in_place = [&](int round, const char* form) {
      ASSERT_EQ(send, sum(0, rank + 1, length, round)) << form << " of " << length;
    };
    RUN_FORMS(scan, _inplace, fill, expect_in_place, send, ReduceOp::Sum);
  }
}

TEST_F(Forms, ExscanGivesTheSumBelowThisRankAndLeavesRankZeroAlone) {
  for (const auto length : lengths()) {
    Buffer send(length);
    Buffer recv(length);
    const auto fill = [&](int round) {
      std::ranges::copy(contribution(rank, length, round), send.begin());
      std::ranges::fill(recv, -1);
    };
    const auto expect = [&](int round, const char* form) {
      ASSERT_EQ(recv, rank == 0 ? Buffer(length, -1) : sum(0, rank, length, round)) << form << " of " << length;
    };
    RUN_FORMS(exscan, , fill, expect, send, recv, ReduceOp::Sum);
    const auto expect_in_place = [&](int round, const char* form) {
      const auto expected = rank == 0 ? contribution(0, length, round) : sum(0, rank, length, round);
      ASSERT_EQ(send, expected) << form << " of " << length;
    };
    RUN_FORMS(exscan, _inplace, fill, expect_in_place, send, ReduceOp::Sum);
  }
}

TEST_F(Forms, ScanAndExscanGiveBackTheContainerThatIsMovedIn) {
  const auto expect = [&](const Buffer& expected, auto call) {
    auto data = contribution(rank, 1001, 0);
    const auto* const memory = data.data();
    const auto result = call(std::move(data));
    EXPECT_EQ(result, expected);
    EXPECT_EQ(result.data(), memory) << "it is no copy";
  };
  const auto before_this = rank == 0 ? contribution(0, 1001, 0) : sum(0, rank, 1001, 0);
  const auto op = ReduceOp::Sum;
  expect(sum(0, rank + 1, 1001, 0), [&](Buffer&& data) { return world.scan(std::move(data), op); });
  expect(sum(0, rank + 1, 1001, 0), [&](Buffer&& data) { return world.iscan(std::move(data), op).get(); });
  expect(before_this, [&](Buffer&& data) { return world.exscan(std::move(data), op); });
  expect(before_this, [&](Buffer&& data) { return world.iexscan(std::move(data), op).get(); });
}

TEST_F(Forms, ReduceScatterBlockGivesEachRankItsBlockOfTheSum) {
  for (const auto length : lengths()) {
    const auto total = length * ranks;
    Buffer send(total);
    Buffer recv(length);
    const auto fill = [&](int round) {
      std::ranges::copy(contribution(rank, total, round), send.begin());
      std::ranges::fill(recv, -1);
    };
    const auto own = [&](int round) { return slice(sum(0, size, total, round), self * length, length); };
    const auto expect = [&](int round, const char* form) { ASSERT_EQ(recv, own(round)) << form << " of " << length; };
    RUN_FORMS(reduce_scatter_block, , fill, expect, send, recv, ReduceOp::Sum);
    const auto expect_in_place = [&](int round, const char* form) {
      ASSERT_EQ(slice(send, 0, length), own(round)) << form << " of " << length;
    };
    RUN_FORMS(reduce_scatter_block, _inplace, fill, expect_in_place, send, ReduceOp::Sum);
  }
}

TEST_F(Forms, ReduceScatterGivesEachRankItsPartOfTheSum) {
  for (const auto length : lengths()) {
    std::vector<int> counts(ranks);
    for (std::size_t r = 0; r < ranks; ++r) counts[r] = static_cast<int>(r % 2 == 0 ? length + r : 0);
    const auto displs = displacements(counts);
    const auto own_count = static_cast<std::size_t>(counts[self]);
    const auto total = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0));
    Buffer send(total);
    Buffer recv(own_count);
    const auto fill = [&](int round) {
      std::ranges::copy(contribution(rank, total, round), send.begin());
      std::ranges::fill(recv, -1);
    };
    const auto own = [&](int round) {
      return slice(sum(0, size, total, round), static_cast<std::size_t>(displs[self]), own_count);
    };
    const auto expect = [&](int round, const char* form) { ASSERT_EQ(recv, own(round)) << form << " of " << length; };
    RUN_FORMS(reduce_scatter, , fill, expect, send, recv, counts, ReduceOp::Sum);
    const std::vector<std::size_t> wide(counts.begin(), counts.end());
    RUN_FORMS(reduce_scatter, , fill, expect, send, recv, wide, ReduceOp::Sum);
    const auto expect_in_place = [&](int round, const char* form) {
      ASSERT_EQ(slice(send, 0, own_count), own(round)) << form << " of " << length;
    };
    RUN_FORMS(reduce_scatter, _inplace, fill, expect_in_place, send, counts, ReduceOp::Sum);
  }
}

TEST_F(Forms, GatherGivesTheRootAllBlocksAndIgnoresOtherReceiveBuffers) {
  for (const auto length : lengths()) {
    for (const int root : roots()) {
      Buffer send(length);
      Buffer recv(rank == root ? length * ranks : 0);
      const auto fill = [&](int round) {
        std::ranges::copy(contribution(rank, length, round), send.begin());
        std::ranges::fill(recv, -1);
      };
      const auto expect = [&](int round, const char* form) {
        if (rank == root) {
          ASSERT_EQ(recv, all(length, round)) << form << " of " << length << " to " << root;
        }
      };
      RUN_FORMS(gather, , fill, expect, send, recv, root);
      Buffer both(rank == root ? length * ranks : length);
      const auto fill_in_place = [&](int round) {
        std::ranges::fill(both, -1);
        const auto place = rank == root ? self * length : 0;
        std::ranges::copy(contribution(rank, length, round), both.begin() + static_cast<std::ptrdiff_t>(place));
      };
      const auto expect_in_place = [&](int round, const char* form) {
        ASSERT_EQ(both, rank == root ? all(length, round) : contribution(rank, length, round)) << form << length;
      };
      RUN_FORMS(gather, _inplace, fill_in_place, expect_in_place, both, root);
    }
  }
}

TEST_F(Forms, AllgatherGivesEveryoneAllBlocks) {
  for (const auto length : lengths()) {
    Buffer send(length);
    Buffer recv(length * ranks);
    const auto fill = [&](int round) {
      std::ranges::copy(contribution(rank, length, round), send.begin());
      std::ranges::fill(recv, -1);
    };
    const auto expect = [&](int round, const char* form) {
      ASSERT_EQ(recv, all(length, round)) << form << " of " << length;
    };
    RUN_FORMS(allgather, , fill, expect, send, recv);
    const auto fill_in_place = [&](int round) {
      std::ranges::fill(recv, -1);
      std::ranges::copy(contribution(rank, length, round), recv.begin() + static_cast<std::ptrdiff_t>(self * length));
    };
    RUN_FORMS(allgather, _inplace, fill_in_place, expect, recv);
  }
}

TEST_F(Forms, ScatterGivesEachRankItsBlockAndIgnoresOtherSendBuffers) {
  for (const auto length : lengths()) {
    for (const int root : roots()) {
      Buffer send(rank == root ? length * ranks : 0);
      Buffer recv(length);
      const auto fill = [&](int round) {
        if (rank == root) std::ranges::copy(contribution(root, length * ranks, round), send.begin());
        std::ranges::fill(recv, -1);
      };
      const auto own = [&](int round) {
        return slice(contribution(root, length * ranks, round), self * length, length);
      };
      const auto expect = [&](int round, const char* form) {
        ASSERT_EQ(recv, own(round)) << form << " of " << length << " from " << root;
      };
      RUN_FORMS(scatter, , fill, expect, send, recv, root);
      Buffer both(rank == root ? length * ranks : length);
      const auto fill_in_place = [&](int round) {
        std::ranges::fill(both, -1);
        if (rank == root) std::ranges::copy(contribution(root, length * ranks, round), both.begin());
      };
      const auto expect_in_place = [&](int round, const char* form) {
        ASSERT_EQ(both, rank == root ? contribution(root, length * ranks, round) : own(round)) << form << length;
      };
      RUN_FORMS(scatter, _inplace, fill_in_place, expect_in_place, both, root);
    }
  }
}

TEST_F(Forms, AlltoallTransposesTheBlocks) {
  for (const auto length : lengths()) {
    Buffer send(length * ranks);
    Buffer recv(length * ranks);
    const auto fill = [&](int round) {
      std::ranges::copy(contribution(rank, length * ranks, round), send.begin());
      std::ranges::fill(recv, -1);
    };
    const auto transposed = [&](int round) {
      Buffer data;
      for (int r = 0; r < size; ++r) {
        const auto block = slice(contribution(r, length * ranks, round), self * length, length);
        data.insert(data.end(), block.begin(), block.end());
      }
      return data;
    };
    const auto expect = [&](int round, const char* form) {
      ASSERT_EQ(recv, transposed(round)) << form << " of " << length;
    };
    RUN_FORMS(alltoall, , fill, expect, send, recv);
    const auto expect_in_place = [&](int round, const char* form) {
      ASSERT_EQ(send, transposed(round)) << form << " of " << length;
    };
    RUN_FORMS(alltoall, _inplace, fill, expect_in_place, send);
  }
}

// Rank 0 comes last, because it hears of all others first. Ranks of one machine read the same clock.
TEST_F(Forms, BarrierLetsNobodyGoBeforeTheLastHasCome) {
  const auto node = world.split_shared();
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  for (int round = 0; round < rounds; ++round) {
    (void)node.gather(round, 0);
    const auto came = now();
    node.barrier();
    const auto left = now();
    EXPECT_LE(node.allreduce(came, ReduceOp::Max), node.allreduce(left, ReduceOp::Min)) << "round " << round;
  }
}

TEST_F(Forms, NonblockingAndPersistentBarriersAreNotOverBeforeTheLastHasCome) {
  const auto expect_to_wait_for_rank_0 = [&](auto start) {
    if (rank == 0) {
      for (int r = 1; r < size; ++r) EXPECT_EQ(world.recv<int>(any_source, 1), 0) << "was over before rank 0 began";
      start().wait();
    } else {
      auto&& request = start();
      int over = 0;
      for (int looks = 0; looks < 100; ++looks) over += request.test() ? 1 : 0;
      world.send(over, 0, 1);
      request.wait();
    }
  };
  auto plan = world.barrier_init(Info{{"key", "value"}});
  const auto restart = [&]() -> PersistentRequest& {
    plan.start();
    return plan;
  };
  for (int round = 0; round < rounds; ++round) {
    expect_to_wait_for_rank_0([&] { return world.ibarrier(); });
    expect_to_wait_for_rank_0(restart);
  }
  EXPECT_FALSE(plan.is_active());
}

TEST_F(Forms, SingleValuesAreSharedOutToo) {
  for (const int root : roots()) {
    const auto send = rank == root ? contribution(root, ranks, 1) : Buffer();
    EXPECT_EQ(world.scatter(send, root), value(root, self, 1));
  }
  EXPECT_EQ(world.reduce_scatter_block(contribution(rank, ranks, 1), ReduceOp::Sum), sum(0, size, ranks, 1)[self]);
  const auto larger = [](double a, double b) { return a > b ? a : b; };
  EXPECT_EQ(world.reduce_scatter_block(contribution(rank, ranks, 1), larger), value(size - 1, self, 1));
}

TEST_F(Forms, SingleValuesAreSharedOutWithoutBlocking) {
  for (const int root : roots()) {
    const auto borrowed = rank == root ? contribution(root, ranks, 1) : Buffer();
    auto first = world.iscatter(borrowed, root);
    auto second = world.iscatter(std::span(borrowed), root);
    auto third = world.iscatter(rank == root ? contribution(root, ranks, 2) : Buffer(), root);  // which it keeps
    EXPECT_EQ(third.get(), value(root, self, 2));
    EXPECT_EQ(second.get(), value(root, self, 1));
    EXPECT_EQ(first.get(), value(root, self, 1));
  }
  const auto borrowed = contribution(rank, ranks, 1);
  auto first = world.ireduce_scatter_block(borrowed, ReduceOp::Sum);
  auto second = world.ireduce_scatter_block(contribution(rank, ranks, 2), ReduceOp::Sum);
  const auto larger = [](double a, double b) { return a > b ? a : b; };
  auto third = world.ireduce_scatter_block(contribution(rank, ranks, 3), larger);
  EXPECT_EQ(third.get(), value(size - 1, self, 3));
  EXPECT_EQ(second.get(), sum(0, size, ranks, 2)[self]);
  EXPECT_EQ(first.get(), sum(0, size, ranks, 1)[self]);
  EXPECT_EQ(borrowed, contribution(rank, ranks, 1));
}

TEST_F(Forms, AlltoallReturnsWhatTheOthersSent) {
  for (const auto length : lengths()) {
    const auto transposed = [&](int round) {
      Buffer data;
      for (int r = 0; r < size; ++r) {
        const auto block = slice(contribution(r, length * ranks, round), self * length, length);
        data.insert(data.end(), block.begin(), block.end());
      }
      return data;
    };
    const auto borrowed = contribution(rank, length * ranks, 1);
    EXPECT_EQ(world.alltoall(borrowed), transposed(1));
    EXPECT_EQ(world.alltoall(contribution(rank, length * ranks, 2)), transposed(2));
    auto first = world.ialltoall(borrowed);
    auto second = world.ialltoall(std::span(borrowed));
    auto third = world.ialltoall(contribution(rank, length * ranks, 3));  // which it keeps
    EXPECT_EQ(third.get(), transposed(3));
    EXPECT_EQ(second.get(), transposed(1));
    EXPECT_EQ(first.get(), transposed(1));
    EXPECT_EQ(borrowed, contribution(rank, length * ranks, 1));
  }
}

TEST_F(Forms, AlltoallReturnsSharesOfEqualLengthOnly) {
  if (size == 1) return;  // which gets all, whatever the length
  EXPECT_EQ(error_of<InvalidBuffer>([&] { (void)world.alltoall(Buffer(ranks + 1)); }).operation(), "alltoall");
  EXPECT_EQ(error_of<InvalidBuffer>([&] { (void)world.ialltoall(Buffer(ranks + 1)); }).operation(), "ialltoall");
}

TEST_F(Forms, SingleValuesAreSharedOutOfAsManyAsThereAreRanks) {
  const auto error =
      error_of<InvalidBuffer>([&] { (void)world.ireduce_scatter_block(Buffer(ranks + 1), ReduceOp::Sum); });
  EXPECT_EQ(error.operation(), "ireduce_scatter_block");
  if (rank == 0) {
    EXPECT_EQ(error_of<InvalidBuffer>([&] { (void)world.iscatter(Buffer(ranks + 1), 0); }).operation(), "iscatter");
  }
  EXPECT_EQ(error_of<MpiError>([&] { (void)world.iscatter(Buffer(ranks), size); }).error_class(), ErrorClass::Root);
}

// Where a library's own persistent operation is known to be wrong the nonblocking call stands in, and nowhere else.
TEST_F(Forms, PersistentOnesAreTheLibrarysOwnWhereItIsRight) {
  Buffer one(1);
  Buffer many(ranks);
  Buffer others(ranks);
  const std::vector<int> counts(ranks, 1);
  const auto displs = displacements(counts);
  const bool right = Mpi::library_version().starts_with("Open MPI");
  EXPECT_EQ(world.broadcast_init(one, 0).is_native(), right);
  EXPECT_EQ(world.gather_init(one, many, 0).is_native(), right);
  EXPECT_EQ(world.scatter_init(many, one, 0).is_native(), right);
  EXPECT_EQ(world.allgather_init(one, many).is_native(), right);
  EXPECT_TRUE(world.barrier_init().is_native());
  EXPECT_TRUE(world.reduce_init(many, others, ReduceOp::Sum, 0).is_native());
  EXPECT_TRUE(world.allreduce_init(many, others, ReduceOp::Sum).is_native());
  EXPECT_TRUE(world.scan_init(many, others, ReduceOp::Sum).is_native());
  EXPECT_TRUE(world.exscan_init(many, others, ReduceOp::Sum).is_native());
  EXPECT_TRUE(world.reduce_scatter_block_init(many, one, ReduceOp::Sum).is_native());
  EXPECT_TRUE(world.reduce_scatter_init(many, one, counts, ReduceOp::Sum).is_native());
  EXPECT_TRUE(world.alltoall_init(many, others).is_native());
  EXPECT_TRUE(world.gatherv_init(one, many, counts, displs, 0).is_native());
  EXPECT_TRUE(world.scatterv_init(many, counts, displs, one, 0).is_native());
  EXPECT_TRUE(world.allgatherv_init(one, many, counts, displs).is_native());
  EXPECT_TRUE(world.alltoallv_init(many, counts, displs, others, counts, displs).is_native());
}
