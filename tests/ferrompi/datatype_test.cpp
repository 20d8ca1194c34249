// How structs travel: members, padding, nesting, bytes.
#include "ferrompi/ranks.hpp"

#include <cstring>

using namespace ferrompi;

namespace {

struct Inner {
  std::int8_t small;
  double large;
  friend bool operator==(const Inner&, const Inner&) = default;
};

struct Outer {
  char letter;
  Inner nested;
  std::array<float, 3> fixed;
  int plain[2];
  bool flag;
  std::complex<double> number;
  ValueIndex<std::uint8_t> place;
};

struct Raw {
  std::int16_t a;
  std::int64_t b;
};

struct Partial {
  int sent;
  int kept;  // not in the member list
};

Outer make(int rank) {
  return {static_cast<char>('a' + rank),
          {static_cast<std::int8_t>(-rank), 0.5 * rank},
          {1.F, 2.F, static_cast<float>(rank)},
          {rank, -rank},
          rank % 2 == 0,
          {1.0 * rank, -1.0},
          {7, rank}};
}

void expect_equal(const Outer& a, const Outer& b) {
  EXPECT_EQ(a.letter, b.letter);
  EXPECT_EQ(a.nested, b.nested);
  EXPECT_EQ(a.fixed, b.fixed);
  EXPECT_EQ(a.plain[0], b.plain[0]);
  EXPECT_EQ(a.plain[1], b.plain[1]);
  EXPECT_EQ(a.flag, b.flag);
  EXPECT_EQ(a.number, b.number);
  EXPECT_EQ(a.place, b.place);
}

class Datatypes : public Ranks {};

}  // namespace

FERROMPI_DATATYPE(Inner, small, large);
FERROMPI_DATATYPE(Outer, letter, nested, fixed, plain, flag, number, place);
FERROMPI_DATATYPE(Partial, sent);
template <>
inline constexpr bool ferrompi::send_as_bytes<Raw> = true;

static_assert(Datatype<Outer> && Datatype<Raw> && Datatype<std::array<Inner, 4>> && Datatype<double>);
static_assert(!Datatype<std::string> && !Datatype<int*> && !Datatype<std::span<int>>);

TEST_F(Datatypes, OfStructsCarryEveryMember) {
  std::vector<Outer> all(ranks * 2);
  const std::vector<Outer> mine(2, make(rank));
  world.allgather(mine, all);
  for (int r = 0; r < size; ++r) {
    expect_equal(all[static_cast<std::size_t>(2 * r)], make(r));
    expect_equal(all[static_cast<std::size_t>(2 * r + 1)], make(r));
  }
}

TEST_F(Datatypes, HaveTheExtentOfTheCxxType) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  ASSERT_EQ(MPI_Type_get_extent(datatype_of<Outer>(), &lower, &extent), MPI_SUCCESS);
  EXPECT_EQ(lower, 0);
  EXPECT_EQ(extent, static_cast<MPI_Aint>(sizeof(Outer)));
}

TEST_F(Datatypes, AreMadeOnce) {
  EXPECT_EQ(datatype_of<Outer>(), datatype_of<Outer>());
}

TEST_F(Datatypes, SendOnlyTheMembersThatAreListed) {
  Partial data{rank, 100 + rank};
  data = world.broadcast(data, size - 1);
  EXPECT_EQ(data.sent, size - 1);
  EXPECT_EQ(data.kept, 100 + rank);
}

TEST_F(Datatypes, OfBytesMoveStructsWhole) {
  const Raw got = world.sendrecv(Raw{3, 1LL << 40}, next, 1, previous, 1);
  EXPECT_EQ(got.a, 3);
  EXPECT_EQ(got.b, 1LL << 40);
}

TEST_F(Datatypes, OfArraysAreElementsOfTheirOwn) {
  const std::vector<std::array<int, 3>> send(1, {rank, rank + 1, rank + 2});
  std::vector<std::array<int, 3>> recv(ranks);
  world.allgather(send, recv);
  for (int r = 0; r < size; ++r) EXPECT_EQ(recv[static_cast<std::size_t>(r)], (std::array<int, 3>{r, r + 1, r + 2}));
}

TEST_F(Datatypes, OfStructsAreCountedInStructs) {
  if (rank == 0) {
    for (int r = 1; r < size; ++r) world.send(std::vector<Outer>(3, make(0)), r, 4);
  } else {
    std::vector<Outer> room(5);
    const auto status = world.recv(room, 0, 4);
    EXPECT_EQ(status.count(), 3U);
    EXPECT_EQ(status.count<Outer>(), 3U);
    using Bigger = std::array<double, 64>;
    EXPECT_THROW((void)status.count<Bigger>(), MpiError);
  }
}
