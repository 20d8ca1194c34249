// What a shared window does when it is used as intended.
#include <ferrompi/window.hpp>

#include <ferrompi/communicator.hpp>

#include "ferrompi/mpi_main.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

using namespace ferrompi;

namespace {

struct alignas(64) CacheLine {
  std::int64_t value;
  friend bool operator==(const CacheLine&, const CacheLine&) = default;
};

struct Reservoir {
  double volume;
  std::int32_t id;
};

}  // namespace

FERROMPI_DATATYPE(CacheLine, value);
template <>
inline constexpr bool ferrompi::send_as_bytes<Reservoir> = true;

namespace {

void barrier(const Communicator& comm) {
  ASSERT_EQ(MPI_Barrier(comm.native()), MPI_SUCCESS);
}

std::size_t as_size(int number) {
  return static_cast<std::size_t>(number);
}

// A window is a resource: what would let one be used after its end does not compile.
template <class Window>
concept LocksAsTemporary = requires(Window&& window) {
  std::forward<Window>(window).lock(LockType::Shared, 0);
};
template <class Window>
concept LocksAllAsTemporary = requires(Window&& window) {
  std::forward<Window>(window).lock_all();
};
template <class Window>
concept GivesLocal = requires(Window&& window) {
  std::forward<Window>(window).local();
};
template <class Window>
concept GivesRemote = requires(Window&& window) {
  std::forward<Window>(window).remote(0);
};
template <class Guard>
concept GivesMutSpan = requires(Guard&& guard) {
  std::forward<Guard>(guard).as_mut_span();
};

using Window = SharedWindow<double>;
static_assert(LocksAsTemporary<Window&> && !LocksAsTemporary<Window&&> && !LocksAsTemporary<const Window&>);
static_assert(LocksAllAsTemporary<Window&> && !LocksAllAsTemporary<Window&&>);
static_assert(GivesLocal<Window&> && GivesLocal<const Window&> && !GivesLocal<Window&&> && !GivesLocal<const Window&&>);
static_assert(GivesRemote<Window&> && !GivesRemote<Window&&> && !GivesRemote<const Window&&>);
static_assert(GivesMutSpan<LockGuard<double>&> && !GivesMutSpan<LockGuard<double>&&>);
static_assert(!std::is_copy_constructible_v<Window> && std::is_nothrow_move_constructible_v<Window>);
static_assert(!std::is_copy_constructible_v<LockGuard<double>> && !std::is_copy_constructible_v<LockAllGuard<double>>);
static_assert(std::is_same_v<decltype(std::declval<const Window&>().remote(0)), std::span<const double>>);
static_assert(std::is_same_v<decltype(std::declval<Window&>().remote(0)), std::span<double>>);

class WindowLayouts : public testing::TestWithParam<WindowLayout> {};
INSTANTIATE_TEST_SUITE_P(All, WindowLayouts, testing::Values(WindowLayout::Contiguous, WindowLayout::Separate),
                         testing::PrintToStringParamName());

TEST_P(WindowLayouts, GivesEveryRankWhatItAskedForAndNoMore) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<double>::allocate(world, as_size(world.rank()) + 1, GetParam());
  EXPECT_EQ(window.comm_size(), world.size());
  EXPECT_EQ(window.comm_rank(), world.rank());
  EXPECT_EQ(window.local().size(), as_size(world.rank()) + 1);
  EXPECT_EQ(window.local().data(), window.remote(world.rank()).data());
  for (int rank = 0; rank < world.size(); ++rank) EXPECT_EQ(window.remote(rank).size(), as_size(rank) + 1);
}

TEST_P(WindowLayouts, ShowsToAllWhatEachStoredBeforeTheFence) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<double>::allocate(world, 100, GetParam());
  for (int round = 0; round < 3; ++round) {
    std::iota(window.local().begin(), window.local().end(), 1000.0 * world.rank() + 100.0 * round);
    window.fence();
    for (int rank = 0; rank < world.size(); ++rank) {
      double expected = 1000.0 * rank + 100.0 * round;
      for (const double value : window.remote(rank)) EXPECT_EQ(value, expected++) << "round " << round;
    }
    window.fence();
  }
}

TEST_P(WindowLayouts, LetsOneRankWriteAnothersSegment) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<std::int32_t>::allocate(world, 4, GetParam());
  const int next = (world.rank() + 1) % world.size();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  window.fence();
  std::ranges::fill(window.remote(next), world.rank());
  window.fence();
  EXPECT_TRUE(std::ranges::all_of(window.local(), [&](auto value) { return value == previous; }));
}

TEST_P(WindowLayouts, TakesZeroFromSomeRanksOrAll) {
  const auto world = test_mpi().world();
  for (const int parity : {0, 1, 2}) {  // even ranks, odd ranks, and nobody has elements
    const auto count_of = [&](int rank) { return rank % 2 == parity ? std::size_t{100} : std::size_t{0}; };
    auto window = SharedWindow<double>::allocate(world, count_of(world.rank()), GetParam());
    EXPECT_EQ(window.local().size(), count_of(world.rank()));
    std::ranges::fill(window.local(), world.rank());
    window.fence();
    for (int rank = 0; rank < world.size(); ++rank) {
      const auto segment = window.remote(rank);
      ASSERT_EQ(segment.size(), count_of(rank));
      EXPECT_EQ(segment.data() == nullptr, segment.empty());
      EXPECT_TRUE(std::ranges::all_of(segment, [&](double value) { return value == rank; }));
    }
    window.fence();
    auto guard = window.lock_all();
    guard.flush_all();
  }
}

TEST_P(WindowLayouts, AlignsElementsThatWantMoreThanTheLibraryGives) {
  const auto world = test_mpi().world();
  const auto check = [&]<class T>(std::type_identity<T>, auto make) {
    auto window = SharedWindow<T>::allocate(world, 3 + as_size(world.rank() % 2), GetParam());
    for (int rank = 0; rank < world.size(); ++rank) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(window.remote(rank).data()) % alignof(T), 0u);
      EXPECT_EQ(window.remote(rank).size(), 3 + as_size(rank % 2));
    }
    window.fence();
    const std::array<T, 3> sent = {make(world.rank()), make(10 + world.rank()), make(20 + world.rank())};
    const int next = (world.rank() + 1) % world.size();
    const int previous = (world.rank() + world.size() - 1) % world.size();
    window.target(next).put(sent);
    window.fence();
    EXPECT_EQ(window.local()[0], make(previous));
    EXPECT_EQ(window.local()[2], make(20 + previous));
    // The elements behind the ones that were written belong to this rank too, up to the last.
    window.local().back() = make(99 - world.rank());
    window.fence();
    EXPECT_EQ(window.remote(previous).back(), make(99 - previous));
    window.fence();
  };
  check(std::type_identity<long double>{}, [](int i) { return static_cast<long double>(i); });
  check(std::type_identity<std::complex<long double>>{}, [](int i) { return std::complex<long double>(i, -i); });
  check(std::type_identity<CacheLine>{}, [](int i) { return CacheLine{i}; });
}

TEST(Window, IsContiguousInRankOrderUnlessToldOtherwise) {
  const auto world = test_mpi().world();
  auto doubles = SharedWindow<double>::allocate(world, as_size(world.rank()) + 3);
  auto lines = SharedWindow<CacheLine>::allocate(world, as_size(world.rank()) + 3);
  for (int rank = 0; rank + 1 < world.size(); ++rank) {
    EXPECT_EQ(doubles.remote(rank).data() + doubles.remote(rank).size(), doubles.remote(rank + 1).data());
    EXPECT_EQ(lines.remote(rank).data() + lines.remote(rank).size(), lines.remote(rank + 1).data());
  }
}

TEST(Window, HoldsStructs) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<Reservoir>::allocate(world, 2);
  window.local()[1] = {2.5, world.rank()};
  window.fence();
  for (int rank = 0; rank < world.size(); ++rank) EXPECT_EQ(window.remote(rank)[1].id, rank);
  window.fence();
  std::vector<Reservoir> got(1);
  window.target(world.size() - 1).get(got, 1);
  window.fence();
  EXPECT_EQ(got[0].id, world.size() - 1);
  EXPECT_EQ(got[0].volume, 2.5);
}

TEST(Window, PutsAndGetsBetweenFences) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<std::int64_t>::allocate(world, 8);
  std::ranges::fill(window.local(), -1);
  const int next = (world.rank() + 1) % world.size();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  window.fence();
  const std::vector<std::int64_t> sent = {10 + world.rank(), 20 + world.rank()};
  window.target(next).put(sent, 3);
  window.fence();
  EXPECT_EQ(std::vector(window.local().begin(), window.local().end()),
            (std::vector<std::int64_t>{-1, -1, -1, 10 + previous, 20 + previous, -1, -1, -1}));
  std::array<std::int64_t, 2> got{};
  window.target(next).get(got, 3);
  window.fence();
  EXPECT_EQ(got, (std::array<std::int64_t, 2>{sent[0], sent[1]}));
}

TEST(Window, AccumulatesFromAllRanksAtOnce) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<double>::allocate(world, world.rank() == 0 ? 3 : 0);
  std::ranges::fill(window.local(), 0.0);
  window.fence();
  const std::array<double, 1> one = {1.0 + world.rank()};
  window.target(0).accumulate(one, ReduceOp::Sum);
  window.target(0).accumulate(one, ReduceOp::Max, 1);
  if (world.rank() == world.size() - 1) window.target(0).accumulate(one, AccumulateOp::Replace, 2);
  window.fence();
  const double n = world.size();
  EXPECT_EQ(window.remote(0)[0], n * (n + 1) / 2);
  EXPECT_EQ(window.remote(0)[1], n);
  EXPECT_EQ(window.remote(0)[2], n);
  window.fence();
}

TEST(Window, AccumulatesEveryTypeThatMpiHas) {
  const auto world = test_mpi().world();
  const auto check = [&]<class T>(T one, ReduceOp op, auto expected) {
    auto window = SharedWindow<T>::allocate(world, 1);
    window.local()[0] = T{};
    window.fence();
    const std::array<T, 1> sent = {one};
    window.target(0).accumulate(sent, op);
    window.fence();
    EXPECT_EQ(window.remote(0)[0], expected) << to_string(op);
    window.fence();
  };
  const int n = world.size();
  check(std::int8_t{1}, ReduceOp::Sum, static_cast<std::int8_t>(n));
  check(std::uint16_t{1}, ReduceOp::Sum, static_cast<std::uint16_t>(n));
  check(std::int32_t{3}, ReduceOp::BitwiseOr, 3);
  check(std::int64_t{7}, ReduceOp::Max, std::int64_t{7});
  check(1.5f, ReduceOp::Sum, 1.5f * static_cast<float>(n));
  check(2.0L, ReduceOp::Sum, 2.0L * static_cast<long double>(n));
  check(true, ReduceOp::LogicalOr, true);
  check(true, ReduceOp::Min, false);
  check(std::byte{5}, ReduceOp::BitwiseOr, std::byte{5});
  check(std::complex<double>(1, 2), ReduceOp::Sum, std::complex<double>(n, 2 * n));
  check(ValueIndex<double>{1.0 + world.rank(), world.rank()}, ReduceOp::MaxLoc,
        ValueIndex<double>{static_cast<double>(n), n - 1});
  check(ValueIndex<std::int32_t>{1 + world.rank(), world.rank()}, ReduceOp::MaxLoc, ValueIndex<std::int32_t>{n, n - 1});
}

// Never by a library that compares them as if they had a sign: such an operation cannot be another's.
TEST(Window, AccumulatesTheLargestUnsignedOrRefuses) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<std::uint64_t>::allocate(world, 1);
  window.local()[0] = 3;
  window.fence();
  const std::array<std::uint64_t, 1> sent = {~std::uint64_t{0}};
  bool refused = false;
  try {
    window.target(0).accumulate(sent, ReduceOp::Max);
  } catch (const NotSupported& error) {
    refused = true;
    EXPECT_EQ(error.operation(), "accumulate");
  }
  window.fence();
  EXPECT_EQ(refused, detail::orders_unsigned_wrongly);
  EXPECT_EQ(window.remote(0)[0], refused ? 3 : sent[0]);
  window.fence();
}

TEST(Window, FetchAccumulateGivesEachRankWhatWasThereBefore) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<std::int64_t>::allocate(world, 2);
  std::ranges::fill(window.local(), 0);
  window.fence();
  const std::array<std::int64_t, 2> add = {1, 100};
  std::array<std::int64_t, 2> before{};
  window.target(0).fetch_accumulate(add, before, ReduceOp::Sum);
  window.fence();
  EXPECT_EQ(window.remote(0)[0], world.size());
  EXPECT_EQ(window.remote(0)[1], 100 * world.size());
  EXPECT_EQ(before[1], 100 * before[0]);
  EXPECT_GE(before[0], 0);
  EXPECT_LT(before[0], world.size());
  window.fence();
}

TEST(WindowLock, ExclusiveLocksProtectAReadModifyWrite) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<std::int64_t>::allocate(world, world.rank() == 0 ? 1 : 0);
  if (world.rank() == 0) window.local()[0] = 0;
  window.fence();
  constexpr int rounds = 20;
  for (int i = 0; i < rounds; ++i) {
    auto guard = window.lock(LockType::Exclusive, 0);
    ++guard.as_mut_span()[0];
  }
  window.fence();
  EXPECT_EQ(window.remote(0)[0], rounds * world.size());
  window.fence();
}

TEST(WindowLock, TheHolderWritesThroughTheWindowToo) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<double>::allocate(world, 2);
  {
    auto guard = window.lock(LockType::Exclusive, world.rank());
    window.local()[0] = 7.0 + world.rank();
    window.remote(world.rank())[1] = 8.0;
    guard.flush();
  }
  window.fence();
  const int next = (world.rank() + 1) % world.size();
  auto guard = window.lock(LockType::Shared, next);
  EXPECT_EQ(guard.type(), LockType::Shared);
  EXPECT_EQ(guard.rank(), next);
  EXPECT_EQ(guard.as_span()[0], 7.0 + next);
  EXPECT_EQ(guard.as_span()[1], 8.0);
}

TEST(WindowLock, PutIsCompleteAfterAFlush) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<float>::allocate(world, 4);
  std::ranges::fill(window.local(), 0.0f);
  window.fence();
  {
    const int next = (world.rank() + 1) % world.size();
    auto guard = window.lock(LockType::Exclusive, next);
    const std::vector<float> sent = {1.0f, 2.0f + static_cast<float>(world.rank())};
    guard.put(sent, 2);
    guard.flush();
    std::vector<float> got(2);
    guard.get(got, 2);
    guard.flush_local();
    EXPECT_EQ(got, sent);
    EXPECT_EQ(guard.size(), 4u);
  }
  window.fence();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  EXPECT_EQ(window.local()[3], 2.0f + static_cast<float>(previous));
}

TEST(WindowLock, PutsUnderALockOfAllRanksAreCompleteAfterEachKindOfFlush) {
  const auto world = test_mpi().world();
  const int next = (world.rank() + 1) % world.size();
  const auto previous = (world.rank() + world.size() - 1) % world.size();
  auto window = SharedWindow<int>::allocate(world, 4);
  std::ranges::fill(window.local(), -1);
  window.fence();
  {
    auto guard = window.lock_all();
    const auto target = guard.target(next);
    // One buffer for all: it may be written again once what was put from it is complete on this side.
    std::array<int, 1> sent{};
    std::array<int, 1> got{};
    const auto put_and_get = [&](std::size_t place, auto flush) {
      sent = {10 * world.rank() + static_cast<int>(place)};
      target.put(sent, place);
      flush();
      target.get(got, place);
      guard.flush();
      EXPECT_EQ(got, sent) << place;
    };
    put_and_get(0, [&] { guard.flush(next); });
    put_and_get(1, [&] { guard.flush(); });
    put_and_get(2, [&] { guard.flush_all(); });
    sent = {10 * world.rank() + 3};
    target.put(sent, 3);
    guard.flush_local(next);
    sent = {-7};
    guard.flush(next);
    target.get(got, 3);
    guard.flush_local(next);
    EXPECT_EQ(got[0], 10 * world.rank() + 3);
  }
  window.fence();
  for (int place = 0; place < 4; ++place) EXPECT_EQ(window.local()[as_size(place)], 10 * previous + place);
  window.fence();
}

TEST(WindowLock, LocksOnDifferentRanksMayOverlap) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  window.local()[0] = world.rank();
  window.fence();
  {
    std::vector<LockGuard<int>> guards;  // grows, so guards are moved
    for (int rank = 0; rank < world.size(); ++rank) guards.push_back(window.lock(LockType::Shared, rank));
    for (int rank = 0; rank < world.size(); ++rank) EXPECT_EQ(guards[as_size(rank)].as_span()[0], rank);
  }
  window.fence();
}

TEST(WindowLock, FetchOpHandsOutEveryTicketOnce) {
  const auto world = test_mpi().world();
  constexpr int rounds = 10;
  const auto tickets = as_size(rounds * world.size());
  auto window = SharedWindow<std::int32_t>::allocate(world, world.rank() == 0 ? 1 + tickets : 0);
  std::ranges::fill(window.local(), 0);
  window.fence();
  {
    auto guard = window.lock_all();
    const auto root = guard.target(0);
    for (int i = 0; i < rounds; ++i) {
      const auto ticket = root.fetch_op(1, ReduceOp::Sum);
      root.fetch_op(1, ReduceOp::Sum, 1 + as_size(ticket));
    }
    guard.flush(0);
    guard.flush_local_all();
    guard.flush_all();
  }
  window.fence();
  const auto counted = window.remote(0);
  EXPECT_EQ(counted[0], rounds * world.size());
  EXPECT_TRUE(std::ranges::all_of(counted.subspan(1), [](int times) { return times == 1; }));
  window.fence();
}

TEST(WindowLock, ReplaceAndNoOpAreAnAtomicStoreAndLoad) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<double>::allocate(world, 1);
  window.local()[0] = 1.0;
  window.fence();
  {
    auto guard = window.lock(LockType::Exclusive, world.rank());
    EXPECT_EQ(guard.fetch_op(5.0, AccumulateOp::Replace), 1.0);
    EXPECT_EQ(guard.fetch_op(0.0, AccumulateOp::NoOp), 5.0);
    EXPECT_EQ(guard.fetch_op(2.0, ReduceOp::Prod), 5.0);
    EXPECT_EQ(guard.fetch_op(0.0, AccumulateOp::NoOp), 10.0);
  }
  window.fence();
}

TEST(WindowLock, CompareAndSwapLetsOneRankWin) {
  const auto world = test_mpi().world();
  const auto contest = [&]<class T>(T free, T taken) {
    auto window = SharedWindow<T>::allocate(world, world.rank() == 0 ? 1 : 0);
    if (world.rank() == 0) window.local()[0] = free;
    window.fence();
    int won = 0;
    {
      auto guard = window.lock_all();
      won = guard.target(0).compare_and_swap(free, taken) == free ? 1 : 0;
    }
    window.fence();
    int winners = 0;
    MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, world.native());
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(window.remote(0)[0], taken);
    window.fence();
  };
  contest(std::int32_t{-1}, std::int32_t{1});
  contest(std::uint64_t{0}, std::uint64_t{1} << 40);
  contest(std::int8_t{0}, std::int8_t{1});
  contest(std::byte{0}, std::byte{9});
}

TEST(WindowLock, StoresAreSeenAfterSyncBarrierSync) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  auto guard = window.lock_all();
  for (int round = 1; round < 5; ++round) {
    window.local()[0] = 10 * world.rank() + round;
    window.sync();
    barrier(world);
    window.sync();
    for (int rank = 0; rank < world.size(); ++rank) EXPECT_EQ(window.remote(rank)[0], 10 * rank + round);
    barrier(world);
  }
}

TEST(WindowLock, SyncWorksOutsideOfEpochsToo) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  window.local()[0] = world.rank();
  window.sync();
  barrier(world);
  window.sync();
  EXPECT_EQ(window.remote(world.size() - 1)[0], world.size() - 1);
  barrier(world);
}

TEST(WindowFence, TakesEveryPromiseThatIsKept) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  window.fence(FenceAssert::NoPrecede);
  const std::array<int, 1> sent = {world.rank()};
  window.target((world.rank() + 1) % world.size()).put(sent);
  window.fence(FenceAssert::NoStore | FenceAssert::NoPut | FenceAssert::NoSucceed);
  EXPECT_EQ(window.local()[0], (world.rank() + world.size() - 1) % world.size());
}

TEST(WindowMove, GuardsSurviveTheMoveOfTheirWindow) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  {
    auto guard = window.lock(LockType::Exclusive, world.rank());
    auto moved = std::move(window);
    guard.as_mut_span()[0] = 5;
    guard.flush();
    EXPECT_EQ(moved.local()[0], 5);
    window = std::move(moved);
  }
  window.fence();
  EXPECT_EQ(window.local()[0], 5);
}

TEST(Window, MayBeManyAtOnce) {
  const auto world = test_mpi().world();
  const int number = world.size() <= 2 ? 300 : 10;  // each costs milliseconds where ranks outnumber cores
  std::vector<SharedWindow<int>> many;
  for (int i = 0; i < number; ++i) {
    many.push_back(SharedWindow<int>::allocate(world, 1));
    many.back().local()[0] = 1000 * world.rank() + i;
  }
  barrier(world);
  const int next = (world.rank() + 1) % world.size();
  for (int i = 0; i < number; ++i) {
    many[as_size(i)].sync();
    EXPECT_EQ(many[as_size(i)].remote(next)[0], 1000 * next + i);
  }
  barrier(world);
}

TEST(WindowMove, AssignmentFreesTheOldWindow) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  window = SharedWindow<int>::allocate(world, 2);
  EXPECT_EQ(window.local().size(), 2u);
  std::optional<SharedWindow<int>> other = SharedWindow<int>::allocate(world, 3);
  window = std::move(*other);
  other.reset();
  window.fence();
  EXPECT_EQ(window.local().size(), 3u);
}

}  // namespace
