// More elements than an int can count, for real: buffers of two gigabytes of one-byte elements, in every form. Two
// ranks; needs about 16 GB. Not part of the default run: `ctest -C Large -L large`.
#include "ferrompi/ranks.hpp"

#include <climits>
#include <cstring>
#include <memory>

using namespace ferrompi;

namespace {

using Byte = std::uint8_t;

constexpr std::size_t n = (std::size_t{1} << 31) + 5;  // more than INT_MAX, and nothing divides it
static_assert(n > INT_MAX);

// Below 128, because Open MPI's sum of two bytes stops at 255 where the processor has AVX.
Byte pattern(std::size_t i, int rank, int round) {
  return static_cast<Byte>((i * 7 + (i >> 21) + static_cast<std::size_t>(rank * 31 + round)) & 0x7f);
}

// The pattern repeats itself inside a stretch, so that most of it is written and compared as fast as memory is: a test
// is about the way of the bytes, and there are hundreds of gigabytes to look at.
constexpr std::size_t period = 128;
constexpr std::size_t stretch = std::size_t{1} << 21;

// Calls `f(i, length)` for what lies in one stretch of a part that starts at `origin` of the pattern, until it says no.
template <class F>
void for_each_stretch(std::size_t origin, std::size_t count, F f) {
  for (std::size_t i = 0; i < count;) {
    const std::size_t length = std::min(count - i, stretch - (origin + i) % stretch);
    if (!f(i, length)) return;
    i += length;
  }
}

// Memory that is not touched before it is filled.
class Bytes {
 public:
  explicit Bytes(std::size_t length) : data_(std::make_unique_for_overwrite<Byte[]>(length)), length_(length) {}

  std::span<Byte> all() { return {data_.get(), length_}; }
  std::span<Byte> part(std::size_t from, std::size_t count) { return all().subspan(from, count); }

  void fill(std::size_t from, std::size_t count, int rank, int round) {
    for_each_stretch(0, count, [&, to = part(from, count)](std::size_t i, std::size_t length) {
      std::size_t done = 0;
      for (; done < std::min(length, period); ++done) to[i + done] = pattern(i + done, rank, round);
      while (done < length) {
        const std::size_t more = std::min(done, length - done);
        std::memcpy(&to[i + done], &to[i], more);
        done += more;
      }
      return true;
    });
  }
  void clear() {
    if (length_ > 0) std::memset(data_.get(), 0xee, length_);
  }

  // The first place at which the part differs from what `expected(i)` says, or `count`. What is expected is made of the
  // pattern from `origin` on.
  template <class Expected>
  std::size_t first_difference(std::size_t from, std::size_t count, Expected expected, std::size_t origin = 0) {
    std::size_t result = count;
    for_each_stretch(origin, count, [&, in = part(from, count)](std::size_t i, std::size_t length) {
      const std::size_t first = std::min(length, period);
      std::size_t k = 0;
      while (k < first && in[i + k] == expected(i + k)) ++k;
      // What equals what stands a period before it, back to a period that is right, is right.
      if (k == first && std::memcmp(&in[i], &in[i] + first, length - first) == 0) return true;
      while (in[i + k] == expected(i + k)) ++k;
      result = i + k;
      return false;
    });
    return result;
  }
  std::size_t matches(std::size_t from, std::size_t count, int rank, int round) {
    return first_difference(from, count, [=](std::size_t i) { return pattern(i, rank, round); });
  }

 private:
  std::unique_ptr<Byte[]> data_;
  std::size_t length_;
};

class Large : public Ranks {
 protected:
  void SetUp() override { ASSERT_EQ(size, 2) << "these tests are written for two ranks"; }

  const int other = 1 - rank;
  const std::vector<std::size_t> counts{n, 3};
  const std::vector<std::size_t> displs{0, n + 2};
  const std::size_t length = n + 5;

  // Blocking, nonblocking and twice persistent; `fill(round)` before, `look(round)` after.
  template <class Fill, class Look, class B, class I, class P>
  void run(Fill fill, Look look, B blocking, I nonblocking, P persistent) {
    fill(0);
    blocking();
    look(0);
    fill(1);
    nonblocking().wait();
    look(1);
    auto plan = persistent();
    for (int round = 2; round < 4; ++round) {
      fill(round);
      plan.start();
      plan.wait();
      look(round);
    }
  }
};

}  // namespace

TEST_F(Large, MessagesArriveWholeAndAreCounted) {
  Bytes data(n);
  const auto fill = [&](int round) { rank == 0 ? data.fill(0, n, 0, round) : data.clear(); };
  const auto look = [&](int round) { EXPECT_EQ(data.matches(0, n, 0, round), n) << "round " << round; };
  if (rank == 0) {
    run(
        fill, look, [&] { world.send(data.all(), 1, 1); }, [&] { return world.isend(data.all(), 1, 1); },
        [&] { return world.send_init(data.all(), 1, 1); });
    fill(9);
    world.send(data.all(), 1, 2);
  } else {
    run(
        fill, look, [&] { EXPECT_EQ(world.recv(data.all(), 0, 1).count(), n); },
        [&] { return world.irecv(data.all(), 0, 1); }, [&] { return world.recv_init(data.all(), 0, 1); });
    auto message = world.mprobe(0, 2);
    EXPECT_EQ(message.count<Byte>(), n);
    EXPECT_EQ(world.iprobe(any_source, any_tag), std::nullopt);
    EXPECT_EQ(message.recv(data.all()).count(), n);
    EXPECT_EQ(data.matches(0, n, 0, 9), n);
  }
}

TEST_F(Large, MessagesAreExchanged) {
  Bytes out(n);
  Bytes in(n);
  out.fill(0, n, rank, 0);
  in.clear();
  const auto status = world.sendrecv(out.all(), other, 1, in.all(), other, 1);
  EXPECT_EQ(status.count(), n);
  EXPECT_EQ(in.matches(0, n, other, 0), n);
}

TEST_F(Large, BroadcastReachesEveryone) {
  Bytes data(n);
  const auto fill = [&](int round) { rank == 1 ? data.fill(0, n, 1, round) : data.clear(); };
  const auto look = [&](int round) { EXPECT_EQ(data.matches(0, n, 1, round), n) << "round " << round; };
  run(
      fill, look, [&] { world.broadcast(data.all(), 1); }, [&] { return world.ibroadcast(data.all(), 1); },
      [&] { return world.broadcast_init(data.all(), 1); });
}

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

TEST_F(LargeReductions, OverAllRanksCombineEveryElement) {
  run([&](int round) { fill(round); }, [&](int round) { expect_sum(round); },
      [&] { world.allreduce_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.iallreduce_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.allreduce_init_inplace(data.all(), ReduceOp::Sum); });
}

TEST_F(LargeReductions, ByACallableCombineEveryElement) {
  const auto add = [](Byte a, Byte b) { return static_cast<Byte>(a + b); };
  run([&](int round) { fill(round); }, [&](int round) { expect_sum(round); },
      [&] { world.allreduce_inplace(data.all(), add); }, [&] { return world.iallreduce_inplace(data.all(), add); },
      [&] { return world.allreduce_init_inplace(data.all(), add); });
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

TEST_F(Large, AllreduceOutOfPlaceLeavesItsInputAlone) {
  Bytes send(n);
  Bytes recv(n);
  send.fill(0, n, rank, 0);
  world.allreduce(send.all(), recv.all(), ReduceOp::Max);
  EXPECT_EQ(send.matches(0, n, rank, 0), n);
  EXPECT_EQ(recv.first_difference(0, n, [](std::size_t i) { return std::max(pattern(i, 0, 0), pattern(i, 1, 0)); }), n);
}

TEST_F(Large, BlocksAreGathered) {
  Bytes data(2 * n);
  const auto fill = [&](int round) {
    data.clear();
    data.fill(self * n, n, rank, round);
  };
  const auto look = [&](int round) {
    EXPECT_EQ(data.matches(0, n, 0, round), n) << "round " << round;
    EXPECT_EQ(data.matches(n, n, 1, round), n) << "round " << round;
  };
  run(
      fill, look, [&] { world.allgather_inplace(data.all()); }, [&] { return world.iallgather_inplace(data.all()); },
      [&] { return world.allgather_init_inplace(data.all()); });
  // Rank 1 only contributes.
  const auto own = rank == 0 ? data.all() : data.part(n, n);
  const auto at_root = [&](int round) {
    if (rank == 0) look(round);
  };
  run(
      fill, at_root, [&] { world.gather_inplace(own, 0); }, [&] { return world.igather_inplace(own, 0); },
      [&] { return world.gather_init_inplace(own, 0); });
}

TEST_F(Large, BlocksAreScattered) {
  Bytes data(rank == 0 ? 2 * n : n);
  const auto fill = [&](int round) {
    data.clear();
    if (rank == 0) data.fill(n, n, 0, round);
  };
  const auto look = [&](int round) { EXPECT_EQ(data.matches(rank == 0 ? n : 0, n, 0, round), n) << "round " << round; };
  run(
      fill, look, [&] { world.scatter_inplace(data.all(), 0); }, [&] { return world.iscatter_inplace(data.all(), 0); },
      [&] { return world.scatter_init_inplace(data.all(), 0); });
}

TEST_F(Large, BlocksAreExchanged) {
  Bytes data(2 * n);
  data.fill(0, n, rank, 0);
  data.fill(n, n, rank, 1);
  world.alltoall_inplace(data.all());
  EXPECT_EQ(data.matches(0, n, 0, rank), n);
  EXPECT_EQ(data.matches(n, n, 1, rank), n);
}

TEST_F(Large, PartsAreGatheredEverywhere) {
  Bytes data(length);
  const auto own = counts[self];
  const auto fill = [&](int round) {
    data.clear();
    data.fill(displs[self], own, rank, round);
  };
  const auto look = [&](int round) {
    EXPECT_EQ(data.matches(displs[0], counts[0], 0, round), counts[0]) << "round " << round;
    EXPECT_EQ(data.matches(displs[1], counts[1], 1, round), counts[1]) << "round " << round;
    EXPECT_EQ(data.part(n, 1)[0], 0xee) << "the gap between the parts";
  };
  run(
      fill, look, [&] { world.allgatherv_inplace(data.all(), counts, displs); },
      [&] { return world.iallgatherv_inplace(data.all(), counts, displs); },
      [&] { return world.allgatherv_init_inplace(data.all(), counts, displs); });
}

TEST_F(Large, PartsAreGatheredOnTheRootAndScatteredFromIt) {
  Bytes whole(rank == 1 ? length : 0);
  Bytes own(counts[self]);
  const auto fill = [&](int round) {
    whole.clear();
    own.fill(0, counts[self], rank, round);
  };
  const auto gathered = [&](int round) {
    if (rank == 0) return;
    EXPECT_EQ(whole.matches(displs[0], counts[0], 0, round), counts[0]) << "round " << round;
    EXPECT_EQ(whole.matches(displs[1], counts[1], 1, round), counts[1]) << "round " << round;
  };
  run(
      fill, gathered, [&] { world.gatherv(own.all(), whole.all(), counts, displs, 1); },
      [&] { return world.igatherv(own.all(), whole.all(), counts, displs, 1); },
      [&] { return world.gatherv_init(own.all(), whole.all(), counts, displs, 1); });
  const auto refill = [&](int round) {
    own.clear();
    if (rank == 0) return;
    whole.fill(displs[0], counts[0], 0, round);
    whole.fill(displs[1], counts[1], 1, round);
  };
  const auto scattered = [&](int round) { EXPECT_EQ(own.matches(0, counts[self], rank, round), counts[self]); };
  run(
      refill, scattered, [&] { world.scatterv(whole.all(), counts, displs, own.all(), 1); },
      [&] { return world.iscatterv(whole.all(), counts, displs, own.all(), 1); },
      [&] { return world.scatterv_init(whole.all(), counts, displs, own.all(), 1); });
}

TEST_F(Large, PartsAreExchanged) {
  // Rank 0 sends much to rank 1, and little comes back.
  const std::vector<std::size_t> sendcounts =
      rank == 0 ? std::vector<std::size_t>{4, n} : std::vector<std::size_t>{2, 5};
  const std::vector<std::size_t> recvcounts =
      rank == 0 ? std::vector<std::size_t>{4, 2} : std::vector<std::size_t>{n, 5};
  const auto sdispls = displacements(sendcounts);
  const auto rdispls = displacements(recvcounts);
  Bytes send(sendcounts[0] + sendcounts[1]);
  Bytes recv(recvcounts[0] + recvcounts[1]);
  const auto fill = [&](int round) {
    recv.clear();
    send.fill(sdispls[0], sendcounts[0], 10 * rank, round);
    send.fill(sdispls[1], sendcounts[1], 10 * rank + 1, round);
  };
  const auto look = [&](int round) {
    EXPECT_EQ(recv.matches(rdispls[0], recvcounts[0], rank, round), recvcounts[0]) << "round " << round;
    EXPECT_EQ(recv.matches(rdispls[1], recvcounts[1], 10 + rank, round), recvcounts[1]) << "round " << round;
  };
  run(
      fill, look, [&] { world.alltoallv(send.all(), sendcounts, sdispls, recv.all(), recvcounts, rdispls); },
      [&] { return world.ialltoallv(send.all(), sendcounts, sdispls, recv.all(), recvcounts, rdispls); },
      [&] { return world.alltoallv_init(send.all(), sendcounts, sdispls, recv.all(), recvcounts, rdispls); });
}

TEST_F(Large, PartsOfASumAreSharedOut) {
  Bytes data(n + 3);
  const auto fill = [&](int round) { data.fill(0, n + 3, rank, round); };
  const auto look = [&](int round) {
    const auto from = rank == 0 ? 0 : n;
    const auto sum = [=](std::size_t i) {
      return static_cast<Byte>(pattern(from + i, 0, round) + pattern(from + i, 1, round));
    };
    EXPECT_EQ(data.first_difference(0, counts[self], sum, from), counts[self]) << "round " << round;
  };
  run(
      fill, look, [&] { world.reduce_scatter_inplace(data.all(), counts, ReduceOp::Sum); },
      [&] { return world.ireduce_scatter_inplace(data.all(), counts, ReduceOp::Sum); },
      [&] { return world.reduce_scatter_init_inplace(data.all(), counts, ReduceOp::Sum); });
  const auto add = [](Byte a, Byte b) { return static_cast<Byte>(a + b); };
  fill(7);
  world.reduce_scatter_inplace(data.all(), counts, add);
  look(7);
}

TEST_F(Large, BlocksOfASumAreSharedOut) {
  // Together more than an int counts; each of them half of it.
  const auto block = n / 2 + 1;
  Bytes data(2 * block);
  const auto fill = [&](int round) { data.fill(0, 2 * block, rank, round); };
  const auto look = [&](int round) {
    const auto from = self * block;
    const auto sum = [=](std::size_t i) {
      return static_cast<Byte>(pattern(from + i, 0, round) + pattern(from + i, 1, round));
    };
    EXPECT_EQ(data.first_difference(0, block, sum, from), block) << "round " << round;
  };
  run(
      fill, look, [&] { world.reduce_scatter_block_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.ireduce_scatter_block_inplace(data.all(), ReduceOp::Sum); },
      [&] { return world.reduce_scatter_block_init_inplace(data.all(), ReduceOp::Sum); });
}
