// Reductions by callables: their captures, their order, their exceptions.
#include "ferrompi/ranks.hpp"

#include <optional>
#include <stdexcept>

using namespace ferrompi;

namespace {

// What the operation of the last scan said of itself, seen from below the library.
std::optional<bool> commutes;

class Callables : public Ranks {};

// x -> a x + b. Composition is associative and does not commute.
struct Affine {
  std::int64_t a;
  std::int64_t b;
  friend bool operator==(const Affine&, const Affine&) = default;
};

Affine then(const Affine& first, const Affine& second) {
  return {second.a * first.a, second.a * first.b + second.b};
}

Affine of_rank(int rank) {
  return {rank + 2, rank + 1};
}

Affine composed(int first, int last) {
  Affine all = of_rank(first);
  for (int r = first + 1; r < last; ++r) all = then(all, of_rank(r));
  return all;
}

struct Padded {
  char kind;
  double value;
  std::array<std::int16_t, 3> parts;
};

}  // namespace

FERROMPI_DATATYPE(Affine, a, b);
FERROMPI_DATATYPE(Padded, kind, value, parts);

extern "C" int MPI_Scan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  int answer = 0;
  MPI_Op_commutative(op, &answer);
  commutes = answer != 0;
  return PMPI_Scan(send, recv, count, type, op, comm);
}

TEST_F(Callables, KeepTheirOwnCapturesAtTheSameCallSite) {
  for (int scale = 1; scale <= 5; ++scale) {
    const auto result = world.allreduce(1, [scale](int a, int b) { return a + b + scale; });
    EXPECT_EQ(result, size + scale * (size - 1));
  }
}

TEST_F(Callables, SeeStateThatIsNotCopied) {
  int calls = 0;
  const auto count = [&calls](int a, int b) {
    ++calls;
    return a + b;
  };
  EXPECT_EQ(world.allreduce(1, count), size);
  EXPECT_EQ(world.allreduce(calls, ReduceOp::Sum) >= size - 1, true);
}

TEST_F(Callables, AreAppliedInRankOrderUnlessTheyCommute) {
  EXPECT_EQ(world.allreduce(of_rank(rank), then), composed(0, size));
  EXPECT_EQ(world.scan(of_rank(rank), then), composed(0, rank + 1));
  if (const auto below = world.exscan(of_rank(rank), then); rank > 0) {
    EXPECT_EQ(below, composed(0, rank));
  }
  for (int root = 0; root < size; ++root) {
    const auto result = world.reduce(of_rank(rank), then, root);
    if (rank == root) {
      EXPECT_EQ(result, composed(0, size));
    }
  }
  std::vector<Affine> send(ranks, of_rank(rank));
  std::vector<Affine> recv(1);
  world.reduce_scatter_block(send, recv, then);
  EXPECT_EQ(recv[0], composed(0, size));
  world.reduce_scatter(send, recv, std::vector<int>(ranks, 1), then);
  EXPECT_EQ(recv[0], composed(0, size));
}

TEST_F(Callables, ThatCommuteMayBeMarked) {
  const double offset = 0.5;
  const auto larger = commutative([offset](double a, double b) { return std::max(a, b + offset - offset); });
  EXPECT_EQ(world.allreduce(1.0 * rank, larger), size - 1.0);
}

TEST_F(Callables, TellMpiThatTheyCommuteOnlyWhereTheyAreMarked) {
  const auto add = [](int a, int b) { return a + b; };
  EXPECT_EQ(world.scan(1, add), rank + 1);
  EXPECT_EQ(commutes, false);
  EXPECT_EQ(world.scan(1, commutative(add)), rank + 1);
  EXPECT_EQ(commutes, true);
}

TEST_F(Callables, ReduceStructsWithPadding) {
  const Padded mine{static_cast<char>('a' + rank), 0.5 * rank, {1, 2, static_cast<std::int16_t>(rank)}};
  const auto all = world.allreduce(mine, [](const Padded& a, const Padded& b) {
    Padded sum = a.kind > b.kind ? a : b;
    sum.value = a.value + b.value;
    for (std::size_t i = 0; i < 3; ++i) sum.parts[i] = static_cast<std::int16_t>(a.parts[i] + b.parts[i]);
    return sum;
  });
  EXPECT_EQ(all.kind, 'a' + size - 1);
  EXPECT_EQ(all.value, 0.5 * (size * (size - 1) / 2));
  EXPECT_EQ(all.parts[1], 2 * size);
  EXPECT_EQ(all.parts[2], size * (size - 1) / 2);
}

TEST_F(Callables, LiveInTheRequestWhileManyAreInFlight) {
  constexpr int in_flight = 100;  // more than any fixed number of slots
  std::vector<Pending<std::vector<int>>> pending;
  for (int i = 0; i < in_flight; ++i) {
    pending.push_back(world.iallreduce(std::vector<int>{rank, i}, [i](int a, int b) { return a + b + i; }));
  }
  for (int i = in_flight; i-- > 0;) {
    const auto result = pending[static_cast<std::size_t>(i)].get();
    EXPECT_EQ(result[0], size * (size - 1) / 2 + i * (size - 1));
    EXPECT_EQ(result[1], size * i + i * (size - 1));
  }
}

TEST_F(Callables, LiveInThePersistentRequestEachWithItsOwnCaptures) {
  // Composition modulo something: what is captured tells the two, which are made by one line, apart.
  constexpr std::array<std::int64_t, 2> moduli{97, 1009};
  const auto compose = [](std::int64_t modulus, const Affine& a, const Affine& b) {
    const auto result = then(a, b);
    return Affine{result.a % modulus, result.b % modulus};
  };
  std::vector<Affine> send(3);
  std::array<std::vector<Affine>, 2> recv{std::vector<Affine>(3), std::vector<Affine>(3)};
  std::vector<PersistentRequest> plans;
  for (std::size_t i = 0; i < 2; ++i) {
    plans.push_back(world.allreduce_init(
        send, recv[i],
        [compose, modulus = moduli[i]](const Affine& a, const Affine& b) { return compose(modulus, a, b); }));
  }
  const auto sent = [](int from, int round) { return Affine{from + 20 + round, from + 1}; };
  for (int round = 0; round < 4; ++round) {
    std::ranges::fill(send, sent(rank, round));
    start_all(plans);
    wait_all(plans);
    for (std::size_t i = 0; i < 2; ++i) {
      Affine expected = sent(0, round);
      for (int r = 1; r < size; ++r) expected = compose(moduli[i], expected, sent(r, round));
      EXPECT_EQ(recv[i], std::vector<Affine>(3, expected)) << "round " << round << ", modulus " << moduli[i];
    }
  }
}

TEST_F(Callables, ThatThrowAreRethrownAfterTheCallAndTheJobGoesOn) {
  if (size == 1) {
    EXPECT_EQ(world.allreduce(1, [](int, int) -> int { throw std::runtime_error("never called"); }), 1);
    return;
  }
  const auto broken = [](int, int) -> int { throw std::runtime_error("cannot add"); };
  // Whether this rank combines anything depends on the algorithm; the last rank of a scan always does.
  const auto last_combines = [&](auto call) {
    try {
      call();
      EXPECT_NE(rank, size - 1);
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "cannot add");
    }
  };
  last_combines([&] { (void)world.scan(1, broken); });
  last_combines([&] { (void)world.iscan(1, broken).get(); });
  int one = 1;
  int sum = 0;
  const std::span send(&one, 1);
  auto plan = world.scan_init(send, std::span(&sum, 1), broken);
  for (int round = 0; round < 2; ++round) {
    plan.start();
    last_combines([&] { plan.wait(); });
  }
  EXPECT_EQ(world.allreduce(1, ReduceOp::Sum), size);
}

TEST_F(Callables, MayBeMoveOnly) {
  auto owned = std::make_unique<int>(3);
  auto add = [owned = std::move(owned)](int a, int b) { return a + b + *owned; };
  EXPECT_EQ(world.iallreduce(1, std::move(add)).get(), size + 3 * (size - 1));
}
