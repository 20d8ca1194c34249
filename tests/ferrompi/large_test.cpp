// More elements than an int can count, for real, in every form: messages, and blocks of equal length. Two ranks; needs
// about 16 GB. Not part of the default run: `ctest -C Large -L large`.
#include "ferrompi/large.hpp"

using namespace ferrompi;
using namespace large;

namespace {

class LargeExchanges : public Large {
 protected:
  // Between buffers, in blocks of this length.
  void exchange(std::size_t block) {
    Input send(2, block);
    Bytes recv(2 * block);
    const auto fill = [&](int round) {
      recv.clear();
      send.fill_part(0, 10 * rank, round);
      send.fill_part(1, 10 * rank + 1, round);
    };
    const auto look = [&](int round) {
      EXPECT_EQ(recv.matches(0, block, rank, round), block) << "round " << round;
      EXPECT_EQ(recv.matches(block, block, 10 + rank, round), block) << "round " << round;
    };
    run(
        fill, look, [&] { world.alltoall(send.all(), recv.all()); },
        [&] { return world.ialltoall(send.all(), recv.all()); },
        [&] { return world.alltoall_init(send.all(), recv.all()); });
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
    run(
        fill, look, [&] { world.ssend(data.all(), 1, 1); }, [&] { return world.issend(data.all(), 1, 1); },
        [&] { return world.ssend_init(data.all(), 1, 1); });
    fill(9);
    world.send(data.all(), 1, 2);
    fill(10);
    world.send(data.all(), 1, 3);
  } else {
    for (int kind = 0; kind < 2; ++kind) {
      run(
          fill, look, [&] { EXPECT_EQ(world.recv(data.all(), 0, 1).count(), n); },
          [&] { return world.irecv(data.all(), 0, 1); }, [&] { return world.recv_init(data.all(), 0, 1); });
    }
    auto message = world.mprobe(0, 2);
    EXPECT_EQ(message.count<Byte>(), n);
    EXPECT_EQ(world.iprobe(any_source, any_tag), std::nullopt);
    EXPECT_EQ(message.recv(data.all()).count(), n);
    EXPECT_EQ(data.matches(0, n, 0, 9), n);
    EXPECT_EQ(world.probe<Byte>(0, 3).count(), n);
    const auto found = world.iprobe<Byte>(0, 3);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->count(), n);
    data.clear();
    EXPECT_EQ(world.mprobe(0, 3).irecv(data.all()).wait().count(), n);
    EXPECT_EQ(data.matches(0, n, 0, 10), n);
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

TEST_F(Large, MessagesAreReplaced) {
  Bytes data(n);
  data.fill(0, n, rank, 0);
  const auto status = world.sendrecv_replace(data.all(), other, 1, other, 1);
  EXPECT_EQ(status.count(), n);
  EXPECT_EQ(data.matches(0, n, other, 0), n);
}

TEST_F(Large, BroadcastReachesEveryone) {
  Bytes data(n);
  const auto fill = [&](int round) { rank == 1 ? data.fill(0, n, 1, round) : data.clear(); };
  const auto look = [&](int round) { EXPECT_EQ(data.matches(0, n, 1, round), n) << "round " << round; };
  run(
      fill, look, [&] { world.broadcast(data.all(), 1); }, [&] { return world.ibroadcast(data.all(), 1); },
      [&] { return world.broadcast_init(data.all(), 1); });
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

TEST_F(Large, BlocksAreGatheredAndScatteredBetweenBuffers) {
  Bytes own(n);
  Bytes whole(2 * n);
  const auto fill = [&](int round) {
    own.fill(0, n, rank, round);
    whole.clear();
  };
  const auto everywhere = [&](int round) {
    EXPECT_EQ(whole.matches(0, n, 0, round), n) << "round " << round;
    EXPECT_EQ(whole.matches(n, n, 1, round), n) << "round " << round;
  };
  const auto at_root = [&](int round) {
    if (rank == 1) everywhere(round);
  };
  run(
      fill, everywhere, [&] { world.allgather(own.all(), whole.all()); },
      [&] { return world.iallgather(own.all(), whole.all()); },
      [&] { return world.allgather_init(own.all(), whole.all()); });
  run(
      fill, at_root, [&] { world.gather(own.all(), whole.all(), 1); },
      [&] { return world.igather(own.all(), whole.all(), 1); },
      [&] { return world.gather_init(own.all(), whole.all(), 1); });
  const auto refill = [&](int round) {
    own.clear();
    if (rank == 0) return;
    whole.fill(0, n, 0, round);
    whole.fill(n, n, 1, round);
  };
  const auto scattered = [&](int round) { EXPECT_EQ(own.matches(0, n, rank, round), n) << "round " << round; };
  run(
      refill, scattered, [&] { world.scatter(whole.all(), own.all(), 1); },
      [&] { return world.iscatter(whole.all(), own.all(), 1); },
      [&] { return world.scatter_init(whole.all(), own.all(), 1); });
}

TEST_F(Large, BlocksAreExchanged) {
  Bytes data(2 * n);
  const auto fill = [&](int round) {
    data.fill(0, n, 10 * rank, round);
    data.fill(n, n, 10 * rank + 1, round);
  };
  const auto look = [&](int round) {
    EXPECT_EQ(data.matches(0, n, rank, round), n) << "round " << round;
    EXPECT_EQ(data.matches(n, n, 10 + rank, round), n) << "round " << round;
  };
  run(
      fill, look, [&] { world.alltoall_inplace(data.all()); }, [&] { return world.ialltoall_inplace(data.all()); },
      [&] { return world.alltoall_init_inplace(data.all()); });
}

TEST_F(LargeExchanges, OfBlocksThatAreTogetherMoreThanAnIntCountsArrive) {
  exchange(in_pages(n / 2 + 1));
}

TEST_F(LargeExchanges, OfBlocksThatAreEachMoreThanAnIntCountsArrive) {
  exchange(in_pages(n));
}
