// What a shared window refuses, and that it is as good as before afterwards.
#include <ferrompi/window.hpp>

#include <ferrompi/communicator.hpp>

#include "ferrompi/mpi_main.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace ferrompi;

namespace {

template <class Call>
std::optional<MpiError> mpi_error_of(Call call) {
  try {
    call();
  } catch (const MpiError& error) {
    return error;
  }
  return std::nullopt;
}

#define EXPECT_CLASS(expected, ...)                             \
  do {                                                          \
    const auto error = mpi_error_of([&] { __VA_ARGS__; });      \
    ASSERT_TRUE(error.has_value()) << #__VA_ARGS__;             \
    EXPECT_EQ(error->error_class(), expected) << error->what(); \
  } while (false)

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Proof that the ranks still agree on what comes next.
void expect_usable(const Communicator& comm) {
  int one = 1;
  int sum = 0;
  ASSERT_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm.native()), MPI_SUCCESS);
  EXPECT_EQ(sum, comm.size());
}

TEST(WindowErrors, AnOverflowOnOneRankIsInvalidBufferOnAll) {
  const auto world = test_mpi().world();
  const int culprit = world.size() - 1;
  const auto count = world.rank() == culprit ? std::numeric_limits<std::size_t>::max() / 4 : std::size_t{8};
  try {
    (void)SharedWindow<double>::allocate(world, count);
    FAIL() << "a window of " << count << " doubles";
  } catch (const InvalidBuffer& error) {
    EXPECT_EQ(error.operation(), "allocate");
    EXPECT_TRUE(contains(error.what(), "rank " + std::to_string(culprit) + " asks for")) << error.what();
  }
  expect_usable(world);
}

TEST(WindowErrors, ASumThatOverflowsIsInvalidBufferToo) {
  const auto world = test_mpi().world();
  // One rank alone asks for what an address can just count; two together ask for more.
  const auto count = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (world.size() > 1) {
    EXPECT_THROW((void)SharedWindow<char>::allocate(world, count), InvalidBuffer);
  } else {
    EXPECT_CLASS(ErrorClass::NoMem, (void)SharedWindow<char>::allocate(world, count));
  }
  expect_usable(world);
}

TEST(WindowErrors, TooLittleMemoryIsAnErrorOnAllRanks) {
  const auto world = test_mpi().world();
  const auto error =
      mpi_error_of([&] { (void)SharedWindow<char>::allocate(world, world.rank() == 0 ? std::size_t{1} << 50 : 1); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->error_class(), ErrorClass::NoMem);
  EXPECT_TRUE(contains(error->what(), "memory")) << error->what();
  expect_usable(world);
}

TEST(WindowErrors, RanksThatMakeDifferentWindowsAllHearOfIt) {
  const auto world = test_mpi().world();
  if (world.size() == 1) return;
  if (world.rank() == 0) {
    EXPECT_THROW((void)SharedWindow<double>::allocate(world, 1), InvalidBuffer);
    EXPECT_THROW((void)SharedWindow<double>::allocate(world, 1, WindowLayout::Separate), InvalidBuffer);
  } else {
    EXPECT_THROW((void)SharedWindow<float>::allocate(world, 1), InvalidBuffer);
    EXPECT_THROW((void)SharedWindow<double>::allocate(world, 1), InvalidBuffer);
  }
  expect_usable(world);
}

TEST(WindowErrors, AMovedFromCommunicatorIsRefused) {
  auto world = test_mpi().world();
  auto other = std::move(world);
  EXPECT_CLASS(ErrorClass::Comm, (void)SharedWindow<double>::allocate(world, 1));
  expect_usable(other);
}

TEST(WindowErrors, MpiReturnsErrorsOfAWindow) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<double>::allocate(world, 1);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  ASSERT_EQ(MPI_Win_get_errhandler(window.native(), &handler), MPI_SUCCESS);
  EXPECT_EQ(handler, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  EXPECT_NE(MPI_Win_lock(MPI_LOCK_SHARED, world.size() + 7, 0, window.native()), MPI_SUCCESS);
  window.fence();
}

TEST(WindowErrors, ARankOutsideOfTheWindowIsErrRank) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<double>::allocate(world, 1);
  for (const int rank : {-1, -2, -3, world.size(), world.size() + 1000}) {
    EXPECT_CLASS(ErrorClass::Rank, (void)window.remote(rank));
    EXPECT_CLASS(ErrorClass::Rank, (void)std::as_const(window).remote(rank));
    EXPECT_CLASS(ErrorClass::Rank, (void)window.lock(LockType::Shared, rank));
    EXPECT_CLASS(ErrorClass::Rank, (void)window.target(rank));
  }
  {
    auto guard = window.lock_all();
    EXPECT_CLASS(ErrorClass::Rank, guard.flush(world.size()));
    EXPECT_CLASS(ErrorClass::Rank, guard.flush_local(-1));
    EXPECT_CLASS(ErrorClass::Rank, (void)guard.target(world.size()));
  }
  window.fence();
}

TEST(WindowErrors, LocksDoNotNest) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  {
    auto guard = window.lock(LockType::Shared, 0);
    EXPECT_CLASS(ErrorClass::RmaSync, (void)window.lock(LockType::Shared, 0));
    EXPECT_CLASS(ErrorClass::RmaSync, (void)window.lock(LockType::Exclusive, 0));
    EXPECT_CLASS(ErrorClass::RmaSync, (void)window.lock_all());
    EXPECT_CLASS(ErrorClass::RmaSync, window.fence());
  }
  {
    auto guard = window.lock_all();
    EXPECT_CLASS(ErrorClass::RmaSync, (void)window.lock(LockType::Shared, 0));
    EXPECT_CLASS(ErrorClass::RmaSync, (void)window.lock_all());
    EXPECT_CLASS(ErrorClass::RmaSync, window.fence());
  }
  window.fence();
  auto guard = window.lock(LockType::Shared, 0);
}

TEST(WindowErrors, ALockMustWaitForTheFenceThatCompletesOperations) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  window.fence();
  const std::array<int, 1> sent = {3};
  window.target(world.rank()).put(sent);
  EXPECT_CLASS(ErrorClass::RmaSync, (void)window.lock(LockType::Exclusive, 0));
  EXPECT_CLASS(ErrorClass::RmaSync, (void)window.lock_all());
  EXPECT_CLASS(ErrorClass::RmaSync, window.fence(FenceAssert::NoPrecede));
  window.fence();
  EXPECT_EQ(window.local()[0], 3);
  auto guard = window.lock(LockType::Shared, 0);  // after a fence that nothing followed, a lock is fine
}

TEST(WindowErrors, AnOperationNeedsAnEpoch) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  std::array<int, 1> value = {3};
  EXPECT_CLASS(ErrorClass::RmaSync, window.target(0).put(value));
  EXPECT_CLASS(ErrorClass::RmaSync, window.target(0).get(value));
  EXPECT_CLASS(ErrorClass::RmaSync, window.target(0).accumulate(value, ReduceOp::Sum));
  std::array<int, 1> before = {4};
  EXPECT_CLASS(ErrorClass::RmaSync, window.target(0).fetch_accumulate(value, before, ReduceOp::Sum));
  EXPECT_CLASS(ErrorClass::RmaSync, (void)window.target(0).fetch_op(1, ReduceOp::Sum));
  window.fence(FenceAssert::NoSucceed);
  EXPECT_CLASS(ErrorClass::RmaSync, window.target(0).put(value));
  window.fence();
  EXPECT_CLASS(ErrorClass::RmaSync, (void)window.target(0).fetch_op(1, ReduceOp::Sum));
  EXPECT_CLASS(ErrorClass::RmaSync, (void)window.target(0).compare_and_swap(0, 1));
  window.fence();
  {
    auto guard = window.lock(LockType::Shared, 0);
    if (world.size() > 1) {
      EXPECT_CLASS(ErrorClass::RmaSync, window.target(1).get(value));
    }
  }
  window.fence();
}

TEST(WindowErrors, ElementsOutsideOfTheSegmentAreRefused) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 4);
  window.fence();
  std::array<int, 2> two{};
  const auto target = window.target(0);
  EXPECT_THROW(target.put(two, 3), InvalidBuffer);
  EXPECT_THROW(target.get(two, 4), InvalidBuffer);
  EXPECT_THROW(target.put(two, std::numeric_limits<std::size_t>::max()), InvalidBuffer);
  EXPECT_THROW(target.accumulate(two, ReduceOp::Sum, 3), InvalidBuffer);
  std::array<int, 2> before{};
  EXPECT_THROW(target.fetch_accumulate(two, before, ReduceOp::Sum, 3), InvalidBuffer);
  std::array<int, 3> three{};
  EXPECT_THROW(target.fetch_accumulate(two, three, ReduceOp::Sum), InvalidBuffer);
  try {
    target.put(two, 3);
  } catch (const InvalidBuffer& error) {
    EXPECT_EQ(std::string(error.what()), "put: 2 elements from offset 3 on do not fit into the 4 of rank 0");
  }
  target.put(std::span<const int>(), 4);  // nothing at the very end is something
  window.fence();
  {
    auto guard = window.lock(LockType::Shared, 0);
    EXPECT_THROW((void)guard.fetch_op(1, ReduceOp::Sum, 4), InvalidBuffer);
    EXPECT_THROW((void)guard.compare_and_swap(0, 1, 4), InvalidBuffer);
    EXPECT_NO_THROW((void)guard.fetch_op(0, ReduceOp::Sum, 3));
  }
  window.fence();
}

TEST(WindowErrors, AnOperationThatDoesNotExistForTheTypeIsInvalidOp) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<double>::allocate(world, 1);
  window.fence();
  const std::array<double, 1> value = {1.0};
  EXPECT_THROW(window.target(0).accumulate(value, ReduceOp::BitwiseOr), InvalidOp);
  EXPECT_THROW(window.target(0).accumulate(value, ReduceOp::MaxLoc), InvalidOp);
  try {
    window.target(0).accumulate(value, ReduceOp::BitwiseOr);
  } catch (const InvalidOp& error) {
    EXPECT_EQ(std::string(error.what()), "accumulate: BitwiseOr does not exist for elements of type double");
  }
  window.fence();
}

TEST(WindowErrors, ASharedLockIsNotForWriting) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  auto guard = window.lock(LockType::Shared, 0);
  EXPECT_THROW((void)guard.as_mut_span(), InvalidOp);
  EXPECT_EQ(guard.as_span().size(), 1u);
}

TEST(WindowErrors, AnEndedGuardRefusesEverything) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  auto guard = window.lock(LockType::Exclusive, world.rank());
  guard.unlock();
  EXPECT_CLASS(ErrorClass::RmaSync, guard.flush());
  EXPECT_CLASS(ErrorClass::RmaSync, (void)guard.as_span());
  EXPECT_CLASS(ErrorClass::RmaSync, (void)guard.as_mut_span());
  guard.unlock();
  auto again = window.lock(LockType::Exclusive, world.rank());
  auto moved = std::move(again);
  EXPECT_CLASS(ErrorClass::RmaSync, (void)again.as_span());
  EXPECT_EQ(moved.as_span().size(), 1u);
  moved.unlock();
  const std::array<int, 1> value = {3};
  EXPECT_CLASS(ErrorClass::RmaSync, again.put(value));
  EXPECT_CLASS(ErrorClass::RmaSync, moved.put(value));
}

TEST(WindowErrors, AnEndedGuardOfAllRefusesEverything) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  auto guard = window.lock_all();
  const auto target = guard.target(0);
  guard.unlock();
  EXPECT_CLASS(ErrorClass::RmaSync, guard.flush(0));
  EXPECT_CLASS(ErrorClass::RmaSync, guard.flush_local(0));
  EXPECT_CLASS(ErrorClass::RmaSync, guard.flush_all());
  EXPECT_CLASS(ErrorClass::RmaSync, guard.flush_local_all());
  EXPECT_CLASS(ErrorClass::RmaSync, (void)guard.target(0));
  EXPECT_CLASS(ErrorClass::RmaSync, (void)target.fetch_op(1, ReduceOp::Sum));
  guard.unlock();
  window.fence();  // which no lock may reach into
  const auto next = window.lock(LockType::Exclusive, world.rank());
}

TEST(WindowErrors, AMovedFromWindowRefusesEverything) {
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  auto moved = std::move(window);
  EXPECT_EQ(window.native(), MPI_WIN_NULL);
  EXPECT_CLASS(ErrorClass::Win, (void)window.local());
  EXPECT_CLASS(ErrorClass::Win, (void)window.remote(0));
  EXPECT_CLASS(ErrorClass::Win, window.fence());
  EXPECT_CLASS(ErrorClass::Win, window.sync());
  EXPECT_CLASS(ErrorClass::Win, (void)window.lock(LockType::Shared, 0));
  EXPECT_CLASS(ErrorClass::Win, (void)window.comm_size());
  moved.fence();
}

TEST(WindowErrors, AGuardThatOutlivesItsWindowStandsForNothing) {
  const auto world = test_mpi().world();
  std::optional<SharedWindow<int>> window = SharedWindow<int>::allocate(world, 1);
  auto target = window->target(0);
  auto guard = window->lock(LockType::Shared, world.rank());
  window.reset();  // ends the lock, then frees
  EXPECT_CLASS(ErrorClass::Win, guard.flush());
  std::array<int, 1> value{};
  EXPECT_CLASS(ErrorClass::Win, target.get(value));
  EXPECT_CLASS(ErrorClass::Win, (void)target.fetch_op(1, ReduceOp::Sum));
  EXPECT_CLASS(ErrorClass::Win, (void)target.compare_and_swap(0, 1));
  guard.unlock();

  window = SharedWindow<int>::allocate(world, 1);
  auto all = window->lock_all();
  window.reset();
  EXPECT_CLASS(ErrorClass::Win, all.flush_all());
  EXPECT_EQ(mpi_error_of([&] { all.flush_all(); })->operation(), "flush_all");
  EXPECT_EQ(mpi_error_of([&] { all.flush(); })->operation(), "flush");
  all.unlock();
  EXPECT_EQ(mpi_error_of([&] { all.flush(); })->operation(), "flush");

  window = SharedWindow<int>::allocate(world, 1);
  window->fence();
  target = window->target(0);
  target.get(value);
  window->fence();
  window.reset();
  EXPECT_CLASS(ErrorClass::Win, target.get(value));
  EXPECT_CLASS(ErrorClass::Win, target.put(std::span<const int>()));
  expect_usable(world);
}

#if FERROMPI_THREAD_CHECKS
TEST(WindowErrors, TwoThreadsAtOnceAreCaughtInDebugBuilds) {
  const auto world = test_mpi().world();
  if (test_mpi().thread_level() < ThreadLevel::Multiple) {
    // Only the thread that initialised MPI may call it.
    auto window = SharedWindow<int>::allocate(world, 1);
    bool refused = false;
    std::thread([&] { refused = mpi_error_of([&] { window.sync(); }).has_value(); }).join();
    EXPECT_TRUE(refused);
    return;
  }
  if (world.size() < 2) return;
  // Rank 0 holds a lock that a thread of rank 1 waits for, inside the window, while another thread of rank 1 calls it.
  auto window = SharedWindow<int>::allocate(world, 1);
  if (world.rank() == 0) {
    auto guard = window.lock(LockType::Exclusive, 0);
    MPI_Barrier(world.native());
    int seen = 0;
    MPI_Recv(&seen, 1, MPI_INT, 1, 0, world.native(), MPI_STATUS_IGNORE);
  } else {
    MPI_Barrier(world.native());
  }
  if (world.rank() == 1) {
    // Either of the two may be the one that is refused; the one that waits has to get in.
    std::thread waiting([&] {
      while (mpi_error_of([&] { auto guard = window.lock(LockType::Exclusive, 0); }).has_value()) {
        std::this_thread::yield();
      }
    });
    while (!mpi_error_of([&] { window.sync(); }).has_value()) std::this_thread::yield();
    const int seen = 1;
    MPI_Send(&seen, 1, MPI_INT, 0, 0, world.native());
    waiting.join();
  }
  MPI_Barrier(world.native());
}

TEST(WindowErrors, AThreadThatMayNotEndALockLeavesItToItsGuard) {
  if (test_mpi().thread_level() >= ThreadLevel::Multiple) return;
  const auto world = test_mpi().world();
  auto window = SharedWindow<int>::allocate(world, 1);
  const auto refused = [](auto call) {
    bool result = false;
    std::thread([&] { result = mpi_error_of(call).has_value(); }).join();
    return result;
  };
  {
    auto guard = window.lock(LockType::Exclusive, world.rank());
    EXPECT_TRUE(refused([&] { guard.unlock(); }));
    guard.flush();
    guard.unlock();
    auto all = window.lock_all();
    EXPECT_TRUE(refused([&] { all.unlock(); }));
    all.flush();
    all.unlock();
  }
  window.fence();
  auto lost = window.lock_all();
  testing::internal::CaptureStderr();
  std::thread([&] { const auto gone = std::move(lost); }).join();
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(said, "ferrompi: rank " + std::to_string(world.rank()) +
                                 " of a window: a guard went, but its "
                                 "lock stays until the window goes: MPI error in unlock: called from a thread other"))
      << said;
  EXPECT_CLASS(ErrorClass::RmaSync, window.fence());
}

TEST(WindowErrors, ALockThatAThreadMayNotEndNowIsEndedOnceTheOtherHasLeft) {
  if (test_mpi().thread_level() < ThreadLevel::Multiple) return;
  const auto world = test_mpi().world();
  if (world.size() < 2) return;
  // As above: a thread of rank 1 is inside of the window until rank 0 lets it go on, and another holds a lock.
  auto window = SharedWindow<int>::allocate(world, 1);
  if (world.rank() == 0) {
    auto guard = window.lock(LockType::Exclusive, 0);
    MPI_Barrier(world.native());
    int seen = 0;
    MPI_Recv(&seen, 1, MPI_INT, 1, 0, world.native(), MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // so that the other meets who is inside
  } else if (world.rank() == 1) {
    std::optional<LockGuard<int>> guard(window.lock(LockType::Exclusive, 1));
    MPI_Barrier(world.native());
    std::thread waiting([&] {
      while (mpi_error_of([&] { auto other = window.lock(LockType::Exclusive, 0); }).has_value()) {
        std::this_thread::yield();
      }
    });
    while (!mpi_error_of([&] { window.sync(); }).has_value()) std::this_thread::yield();
    EXPECT_CLASS(ErrorClass::Win, guard->unlock());
    const int seen = 1;
    MPI_Send(&seen, 1, MPI_INT, 0, 0, world.native());
    guard.reset();
    waiting.join();
  } else {
    MPI_Barrier(world.native());
  }
  MPI_Barrier(world.native());
  auto guard = window.lock(LockType::Exclusive, 1);  // would wait for ever for a lock that was lost
}
#endif

}  // namespace
