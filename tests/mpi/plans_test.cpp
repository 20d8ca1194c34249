// Reductions that come again and again: right whatever the ranks' buffers are, and by persistent requests where the
// library is faster at those. Runs on every rank of a launcher.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "comm/backends/mpi/plans.hpp"
#include "ferrompi/mpi_main.hpp"

namespace {

// Only where the ranks of a test are the ranks of one thread is this enough.
std::size_t starts = 0;
std::set<MPI_Request> started;

}  // namespace

// Before the library's own.
extern "C" int MPI_Start(MPI_Request* request) {
  ++starts;
  started.insert(*request);
  return PMPI_Start(request);
}

namespace {

using namespace cobre::comm;

FerrompiBackend backend() {
  return FerrompiBackend(test_mpi().world().native());
}

bool pays(const FerrompiBackend& comm, std::size_t count, std::size_t element_size) {
  return ferrompi::is_faster_again(count, element_size, static_cast<int>(comm.size()));
}

template <class T>
T contribution(std::size_t rank, std::size_t round, std::size_t i) {
  return static_cast<T>((rank + 1) * (round % 3 + 1) + i % 5);
}

template <class T>
T sum_of(std::size_t ranks, std::size_t round, std::size_t i) {
  T sum{};
  for (std::size_t rank = 0; rank < ranks; ++rank) sum = static_cast<T>(sum + contribution<T>(rank, round, i));
  return sum;
}

// Once into another buffer, once in place: on rank 0 always in other memory, on the others always in the same.
template <class T>
void expect_right_sums(const FerrompiBackend& comm, std::size_t count, std::size_t round) {
  static std::vector<T> send, recv;
  if (comm.rank() == 0) {
    send = std::vector<T>(count + round % 7);
    recv = std::vector<T>(count + round % 5);
  }
  send.resize(std::max(send.size(), count));
  recv.resize(std::max(recv.size(), count));
  for (std::size_t i = 0; i < count; ++i) send[i] = contribution<T>(comm.rank(), round, i);
  // Ranks need not agree on this either.
  if ((round + comm.rank()) % 2 == 0) {
    std::copy_n(send.begin(), count, recv.begin());
    comm.allreduce_inplace(std::span(recv).first(count), ReduceOp::Sum);
  } else {
    comm.allreduce(std::span(send).first(count), std::span(recv).first(count), ReduceOp::Sum);
  }
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(recv[i], sum_of<T>(comm.size(), round, i)) << round << ", " << i;
}

TEST(RepeatedReductions, AreStartedAgainWhereThatIsFasterAndOnlyThere) {
  const auto comm = backend();
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{8}, std::size_t{128}, std::size_t{129}}) {
    const std::size_t before = starts;
    for (std::size_t round = 0; round < 10; ++round) expect_right_sums<double>(comm, count, round);
    const std::size_t first = mpi::Plans::worth_a_plan - 1;
    EXPECT_EQ(starts - before, pays(comm, count, sizeof(double)) ? 10 - first : 0) << count;
  }
}

TEST(RepeatedReductions, OfMoreKindsThanThereArePlansAreRightAndNotForgotten) {
  const auto comm = backend();
  started.clear();
  for (std::size_t round = 0; round < 3; ++round) {
    // So many in a ring that none is remembered, and each of them several times.
    for (std::size_t count = 8; count < 24; ++count) expect_right_sums<std::int64_t>(comm, count, round);
    for (std::size_t count = 8; count < 24; ++count) {
      for (int again = 0; again < 3; ++again) expect_right_sums<std::int32_t>(comm, count, round);
    }
  }
  EXPECT_EQ(started.size(), pays(comm, 8, 4) ? mpi::Plans::most : 0);
}

template <class T>
void expect_all_operations() {
  const auto comm = backend();
  const auto ranks = static_cast<T>(comm.size());
  std::vector<T> recv(16);
  for (std::size_t round = 0; round < 5; ++round) {
    const std::vector<T> send(16, static_cast<T>(comm.rank() + round + 1));
    const auto first = static_cast<T>(round + 1);
    const auto last = static_cast<T>(ranks + static_cast<T>(round));
    comm.allreduce(send, recv, ReduceOp::Min);
    EXPECT_EQ(recv, std::vector<T>(16, first));
    comm.allreduce(send, recv, ReduceOp::Max);
    EXPECT_EQ(recv, std::vector<T>(16, last));
    comm.allreduce(std::vector<T>(16, static_cast<T>(comm.rank() == 0 ? round + 1 : 1)), recv, ReduceOp::Prod);
    EXPECT_EQ(recv, std::vector<T>(16, first));
    if constexpr (std::is_integral_v<T>) {
      comm.allreduce(std::vector<T>(16, static_cast<T>(1U << comm.rank())), recv, ReduceOp::BitwiseOr);
      EXPECT_EQ(recv, std::vector<T>(16, static_cast<T>((1U << comm.size()) - 1)));
    }
  }
}

TEST(RepeatedReductions, AreRightForEveryOperationAndType) {
  expect_all_operations<std::int8_t>();
  expect_all_operations<std::uint16_t>();
  expect_all_operations<std::int32_t>();
  expect_all_operations<std::uint64_t>();
  expect_all_operations<float>();
  expect_all_operations<double>();
  expect_all_operations<long double>();
}

TEST(RepeatedReductions, OfSeveralCommunicatorsAndFormsDoNotMeet) {
  const auto world = backend();
  const auto part = world.split(static_cast<int>(world.rank() % 2));
  for (std::size_t round = 0; round < 12; ++round) {
    // One that is not waited for is on its way meanwhile.
    std::vector<double> floating(16, 1.0 + static_cast<double>(round)), summed(16);
    auto pending = world.iallreduce(floating, summed, ReduceOp::Sum);
    expect_right_sums<double>(world, 16, round);
    expect_right_sums<double>(*part, 16, round);
    pending.wait();
    EXPECT_EQ(summed, std::vector<double>(16, (1.0 + static_cast<double>(round)) * static_cast<double>(world.size())));
    // The canonical order is no business of a plan.
    world.allreduce(floating, summed, ReduceOp::Max, Reproducible::Yes);
    EXPECT_EQ(summed, floating);
    EXPECT_EQ(world.broadcast(round, 0), round);
    const auto copy = world.duplicate();
    expect_right_sums<double>(copy, 16, round);
  }
}

}  // namespace
