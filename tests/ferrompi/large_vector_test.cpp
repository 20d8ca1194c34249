// More elements than an int can count in the parts of the v-operations, in every form.
#include "ferrompi/large.hpp"

using namespace ferrompi;
using namespace large;

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
  Bytes send(own);
  const auto refill = [&](int round) {
    data.clear();
    send.fill(0, own, rank, round);
  };
  run(
      refill, look, [&] { world.allgatherv(send.all(), data.all(), counts, displs); },
      [&] { return world.iallgatherv(send.all(), data.all(), counts, displs); },
      [&] { return world.allgatherv_init(send.all(), data.all(), counts, displs); });
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

TEST_F(Large, PartsAreGatheredAndScatteredInPlace) {
  // Rank 1 keeps its own part where it is.
  Bytes data(rank == 1 ? length : counts[0]);
  const auto fill = [&](int round) {
    data.clear();
    data.fill(rank == 1 ? displs[1] : 0, counts[self], rank, round);
  };
  const auto gathered = [&](int round) {
    EXPECT_EQ(data.matches(0, counts[0], 0, round), counts[0]) << "round " << round;
    if (rank == 1) {
      EXPECT_EQ(data.matches(displs[1], counts[1], 1, round), counts[1]) << "round " << round;
    }
  };
  run(
      fill, gathered, [&] { world.gatherv_inplace(data.all(), counts, displs, 1); },
      [&] { return world.igatherv_inplace(data.all(), counts, displs, 1); },
      [&] { return world.gatherv_init_inplace(data.all(), counts, displs, 1); });
  const auto refill = [&](int round) {
    data.clear();
    if (rank == 0) return;
    data.fill(displs[0], counts[0], 0, round);
    data.fill(displs[1], counts[1], 1, round);
  };
  run(
      refill, gathered, [&] { world.scatterv_inplace(data.all(), counts, displs, 1); },
      [&] { return world.iscatterv_inplace(data.all(), counts, displs, 1); },
      [&] { return world.scatterv_init_inplace(data.all(), counts, displs, 1); });
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

TEST_F(Large, PartsAreExchangedInPlace) {
  // What the ranks give each other is equally long.
  const std::vector<std::size_t> parts = rank == 0 ? std::vector<std::size_t>{4, n} : std::vector<std::size_t>{n, 5};
  const auto places = displacements(parts);
  Bytes data(parts[0] + parts[1]);
  const auto fill = [&](int round) {
    data.fill(places[0], parts[0], 10 * rank, round);
    data.fill(places[1], parts[1], 10 * rank + 1, round);
  };
  const auto look = [&](int round) {
    EXPECT_EQ(data.matches(places[0], parts[0], rank, round), parts[0]) << "round " << round;
    EXPECT_EQ(data.matches(places[1], parts[1], 10 + rank, round), parts[1]) << "round " << round;
  };
  run(
      fill, look, [&] { world.alltoallv_inplace(data.all(), parts, places); },
      [&] { return world.ialltoallv_inplace(data.all(), parts, places); },
      [&] { return world.alltoallv_init_inplace(data.all(), parts, places); });
}

TEST_F(Large, PartsOfTheFormsInOneLineAreCounted) {
  Bytes own(counts[self]);
  own.fill(0, counts[self], rank, 0);
  const auto expect_all = [&](const Gathered<Byte>& all) {
    ASSERT_EQ(all.counts, counts);
    ASSERT_EQ(all.displs, displacements(counts));
    ASSERT_EQ(all.values.size(), counts[0] + counts[1]);
    const std::span<const Byte> values = all.values;
    EXPECT_EQ(matches(values.first(counts[0]), 0, 0), counts[0]);
    EXPECT_EQ(matches(values.last(counts[1]), 1, 0), counts[1]);
  };
  expect_all(world.allgatherv(own.all()));
  const auto gathered = world.gatherv(own.all(), 1);
  if (rank == 1) {
    expect_all(gathered);
  } else {
    EXPECT_TRUE(gathered.values.empty());
  }
  const auto part = world.scatterv(gathered.values, gathered.counts, 1);
  ASSERT_EQ(part.size(), counts[self]);
  EXPECT_EQ(matches(part, rank, 0), part.size());
}

TEST_F(Large, PartsOfAnExchangeInOneLineAreCounted) {
  // Rank 0 sends much to rank 1, and little comes back.
  const std::vector<std::size_t> sendcounts =
      rank == 0 ? std::vector<std::size_t>{4, n} : std::vector<std::size_t>{2, 5};
  Bytes send(sendcounts[0] + sendcounts[1]);
  send.fill(0, sendcounts[0], 10 * rank, 0);
  send.fill(sendcounts[0], sendcounts[1], 10 * rank + 1, 0);
  const auto got = world.alltoallv(send.all(), sendcounts);
  ASSERT_EQ(got.counts, (rank == 0 ? std::vector<std::size_t>{4, 2} : std::vector<std::size_t>{n, 5}));
  const std::span<const Byte> values = got.values;
  ASSERT_EQ(values.size(), got.counts[0] + got.counts[1]);
  EXPECT_EQ(matches(values.first(got.counts[0]), rank, 0), got.counts[0]);
  EXPECT_EQ(matches(values.last(got.counts[1]), 10 + rank, 0), got.counts[1]);
}
