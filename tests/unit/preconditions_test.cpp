// The words of the argument checker; that every backend goes through it is the conformance suite's matter.

#include <cobre/comm.hpp>

#include "support/strided_block.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace cobre::comm;
using Sizes = std::vector<std::size_t>;

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const CommError& error) {
    return error.what();
  }
  return "no error";
}

std::string gather_message(const Where& where, std::size_t send, std::size_t recv, const Sizes& counts,
                           const Sizes& displs) {
  return message_of([&] { detail::check_gathered_segments(where, send, recv, counts, displs); });
}

TEST(Preconditions, SayWhichArrayHasTheWrongLength) {
  EXPECT_EQ(
      gather_message({"allgatherv", 0, 2}, 1, 9, {1}, {0, 1}),
      "allgatherv on rank 0 of 2: counts has 1 element, but there is one for each of the 2 ranks; give it 2 elements");
  EXPECT_EQ(
      gather_message({"allgatherv", 1, 2}, 1, 9, {1, 1}, {0, 1, 2}),
      "allgatherv on rank 1 of 2: displs has 3 elements, but there is one for each of the 2 ranks; give it 2 elements");
}

TEST(Preconditions, CompareSendWithItsOwnCount) {
  EXPECT_EQ(gather_message({"allgatherv", 1, 2}, 3, 9, {1, 2}, {0, 1}),
            "allgatherv on rank 1 of 2: send has 3 elements, but counts[1] says 2; they must be equal");
}

TEST(Preconditions, NameTheSegmentThatSticksOut) {
  EXPECT_EQ(
      gather_message({"allgatherv", 1, 2}, 1, 5, {3, 1}, {4, 0}),
      "allgatherv on rank 1 of 2: recv has 5 elements, but rank 0's segment of 3 elements from 4 on ends at 7; make "
      "recv at least that long");
}

TEST(Preconditions, NameTheRanksWhoseSegmentsMeet) {
  EXPECT_EQ(gather_message({"allgatherv", 0, 3}, 2, 20, {2, 2, 4}, {8, 3, 5}),
            "allgatherv on rank 0 of 3: the segments of ranks 2 and 0 share 1 element: rank 2 fills recv[5, 9), rank 0 "
            "starts at 8; move displs so that no two segments overlap");
}

TEST(Preconditions, SegmentsOfNothingMeetNobody) {
  EXPECT_EQ(gather_message({"allgatherv", 0, 3}, 4, 4, {4, 0, 0}, {0, 2, 99}), "no error");
}

TEST(Preconditions, SayHowManyElementsOneBlockARankTakes) {
  EXPECT_EQ(message_of([] {
              detail::check_blocks({"gather", 1, 3}, "recv", 10, "send", 4);
            }),
            "gather on rank 1 of 3: recv has 10 elements, but holds one block of 4 elements (as send has) for each of "
            "the 3 ranks; give it 12 elements");
  EXPECT_EQ(message_of([] {
              detail::check_divisible({"alltoall", 0, 3}, 10);
            }),
            "alltoall on rank 0 of 3: send has 10 elements, which 3 ranks cannot share in equal blocks; give it 12 "
            "elements, or use alltoallv");
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW(detail::check_blocks({"gather", 0, 2}, "recv", 0, "send", most / 2 + 1), InvalidBufferSize);
}

TEST(Preconditions, NameTheArraysOfAnExchange) {
  const detail::SegmentNames received{"recv", "recvcounts", "rdispls"};
  EXPECT_EQ(message_of([&] {
              detail::check_written_segments({"alltoallv", 0, 2}, received, 9, Sizes{3, 3}, Sizes{0, 2});
            }),
            "alltoallv on rank 0 of 2: the segments of ranks 0 and 1 share 1 element: rank 0 fills recv[0, 3), rank 1 "
            "starts at 2; move rdispls so that no two segments overlap");
  EXPECT_EQ(
      message_of([&] {
        detail::check_read_segments({"alltoallv", 0, 2}, {"send", "sendcounts", "sdispls"}, 9, Sizes{3}, Sizes{0, 2});
      }),
      "alltoallv on rank 0 of 2: sendcounts has 1 element, but there is one for each of the 2 ranks; give it 2 "
      "elements");
  EXPECT_EQ(message_of([] {
              detail::check_part_for_itself({"alltoallv", 1, 2}, 4, 3);
            }),
            "alltoallv on rank 1 of 2: sendcounts[1] says 4, but recvcounts[1] says 3; what a rank sends itself it "
            "also receives: make them equal");
  EXPECT_EQ(message_of([] {
              detail::check_packed_parts({"scatterv", 0, 2}, 8, Sizes{3, 4});
            }),
            "scatterv on rank 0 of 2: send has 8 elements, but counts add up to 7; they must be equal");
}

TEST(Preconditions, TellLengthsAndOverlapApart) {
  EXPECT_EQ(message_of([] {
              detail::check_same_length({"allreduce", 0, 1}, 4, 3);
            }),
            "allreduce on rank 0 of 1: send has 4 elements, but recv has 3 elements; make them equally long");
  std::vector<double> data(10);
  const std::span<double> all(data);
  EXPECT_EQ(message_of([&] {
              detail::check_apart<double>({"allreduce", 0, 1}, all.first(6), all.last(5));
            }),
            "allreduce on rank 0 of 1: send and recv share 1 element; use separate buffers or allreduce_inplace");
  EXPECT_EQ(message_of([&] {
              detail::check_apart<double>({"allgatherv", 0, 1}, all, all);
            }),
            "allgatherv on rank 0 of 1: send and recv share 10 elements; use separate buffers");
}

TEST(Preconditions, EmptyBuffersOverlapNothing) {
  std::vector<double> data(10);
  const std::span<double> all(data);
  detail::check_apart<double>({"allreduce", 0, 1}, all.subspan(4, 0), all);
  detail::check_apart<double>({"allreduce", 0, 1}, {}, {});
}

TEST(Preconditions, TakeMatricesAndRefuseStridedViewsOfThem) {
  const LocalBackend comm;
  using test::StridedBlock;
  StridedBlock packed;
  packed.storage[3] = 5;
  comm.broadcast(packed, 0);
  StridedBlock result;
  comm.allreduce(packed, result, ReduceOp::Sum);
  EXPECT_EQ(result.storage[3], 5);

  StridedBlock strided;
  strided.outer = 4;
  EXPECT_EQ(
      message_of([&] { comm.broadcast(strided, 0); }),
      "broadcast on rank 0 of 1: a buffer's elements do not lie one behind the other (a block or a strided view); "
      "copy it into a contiguous one first");
  strided.outer = 2;
  strided.inner = 2;
  EXPECT_THROW(comm.allreduce_inplace(strided, ReduceOp::Sum), InvalidOperation);
}

TEST(Preconditions, AskForNoStrideWhereThereIsNothingToStepOver) {
  const auto is_packed = [](int inner_size, int inner_stride, int outer_size, int outer_stride) {
    return detail::is_packed(test::StridedBlock{
        .inner = inner_stride, .outer = outer_stride, .inner_size = inner_size, .outer_size = outer_size});
  };
  EXPECT_TRUE(is_packed(1, 7, 1, 9)) << "one element of a row";
  EXPECT_TRUE(is_packed(4, 1, 1, 9)) << "one column";
  EXPECT_TRUE(is_packed(1, 7, 4, 1)) << "columns of one element, side by side";
  EXPECT_TRUE(is_packed(0, 1, 4, 9)) << "no element";
  EXPECT_TRUE(is_packed(2, 1, 0, 9)) << "no column";
  EXPECT_FALSE(is_packed(1, 1, 4, 9)) << "a row";
  EXPECT_FALSE(is_packed(4, 2, 1, 9)) << "every other element";
  EXPECT_FALSE(is_packed(2, 1, 2, 4)) << "a block";
}

}  // namespace
