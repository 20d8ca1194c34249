// More bytes than an int counts. Needs 7 GiB of memory, so it is not part of the default run.
#include <ferrompi/window.hpp>

#include <ferrompi/communicator.hpp>

#include "ferrompi/mpi_main.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace ferrompi;

namespace {

TEST(WindowLarge, PutAndGetMoveMoreThanAnIntCounts) {
  const auto world = test_mpi().world();
  constexpr std::size_t count = (std::size_t{1} << 31) + 5;
  constexpr auto others = static_cast<std::ptrdiff_t>(count) - 3;  // each of which is 1
  const int last = world.size() - 1;
  auto window = SharedWindow<std::uint8_t>::allocate(world, world.rank() == 0 ? count : 0);
  EXPECT_EQ(window.remote(0).size(), count);
  std::vector<std::uint8_t> values;
  window.fence();
  if (world.rank() == last) {
    values.resize(count, 1);
    values.front() = 2;
    values[std::size_t{1} << 30] = 3;  // the first of the second piece
    values.back() = 4;
    window.target(0).put(values);
  }
  window.fence();
  EXPECT_EQ(window.remote(0).front(), 2);
  EXPECT_EQ(window.remote(0)[std::size_t{1} << 30], 3);
  EXPECT_EQ(window.remote(0)[count - 2], 1);
  EXPECT_EQ(window.remote(0).back(), 4);
  if (world.rank() == 0) {
    EXPECT_EQ(std::ranges::count(window.local(), 1), others);
  }
  if (world.rank() == last) {
    std::fill(values.begin(), values.end(), std::uint8_t{0});
    window.target(0).get(values);
  }
  window.fence();
  if (world.rank() == last) {
    EXPECT_EQ(values.front(), 2);
    EXPECT_EQ(values[std::size_t{1} << 30], 3);
    EXPECT_EQ(values[count - 2], 1);
    EXPECT_EQ(values.back(), 4);
    EXPECT_EQ(std::ranges::count(values, 1), others);
  }
}

TEST(WindowLarge, AccumulateReachesElementsBeyondAnInt) {
  const auto world = test_mpi().world();
  constexpr std::size_t count = (std::size_t{1} << 31) + 5;
  auto window = SharedWindow<std::uint8_t>::allocate(world, world.rank() == 0 ? count : 0);
  if (world.rank() == 0) window.local().back() = 1;
  window.fence();
  const std::vector<std::uint8_t> one(1, 1);
  window.target(0).accumulate(one, ReduceOp::Sum, count - 1);
  window.fence();
  EXPECT_EQ(window.remote(0).back(), 1 + world.size());
  window.fence();
}

// The last rank adds to all of rank 0's segment, in one call of ours and as many of MPI as it takes.
template <class T>
void combine_all_of(std::size_t count) {
  const auto world = test_mpi().world();
  const bool combines = world.rank() == world.size() - 1;
  auto window = SharedWindow<T>::allocate(world, world.rank() == 0 ? count : 0);
  const auto before = [](std::size_t i) { return static_cast<T>(i % 61); };
  const auto more = [](std::size_t i) { return static_cast<T>(i % 59); };
  if (world.rank() == 0) {
    for (std::size_t i = 0; i < count; ++i) window.local()[i] = before(i);
  }
  const std::size_t length = combines ? count : 0;
  std::vector<T> values(length);
  for (std::size_t i = 0; i < length; ++i) values[i] = more(i);
  window.fence();
  if (combines) window.target(0).accumulate(values, ReduceOp::Sum);
  window.fence();
  std::vector<T> results(length);
  if (combines) window.target(0).fetch_accumulate(values, results, ReduceOp::Sum);
  window.fence();
  std::size_t fetched = 0;
  while (fetched < length && results[fetched] == before(fetched) + more(fetched)) ++fetched;
  EXPECT_EQ(fetched, length) << "what was there before";
  std::size_t combined = 0;
  const auto all = window.remote(0);
  while (combined < count && all[combined] == before(combined) + 2 * more(combined)) ++combined;
  EXPECT_EQ(combined, count);
  window.fence();
}

TEST(WindowLarge, AccumulateAndFetchAccumulateCombineMoreThanAnIntCounts) {
  combine_all_of<std::uint8_t>((std::size_t{1} << 31) + 5);
}

TEST(WindowLarge, AccumulateAndFetchAccumulateCombineMoreBytesThanAnIntCounts) {
  combine_all_of<std::int64_t>((std::size_t{1} << 28) + 5);
}

}  // namespace
