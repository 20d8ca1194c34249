// Ranks that begin requests and calls that wait in another order.

#include "comm/core/crossing.hpp"

#include <gtest/gtest.h>

#include "comm/core/describe_operation.hpp"
#include "comm/core/disagreement.hpp"

namespace {

using namespace cobre::comm;
using core::Aside;
using core::Standing;
using detail::Operation;
using detail::OperationRecord;

// In its how-manieth barrier, after so many requests.
Standing standing(std::uint64_t entered, std::uint64_t begun) {
  Aside aside;
  for (std::uint64_t i = 1; i <= begun; ++i)
    aside.begin({.operation = Operation::Allgather, .element_size = 8, .count = i});
  return {entered, {.operation = Operation::Barrier, .sequence = entered}, aside};
}

TEST(Crossing, IsNotFoundWhereOneIsOnlyBehind) {
  EXPECT_FALSE(core::crossing(std::vector<std::optional<Standing>>{standing(5, 3), standing(4, 3), standing(4, 2)}));
  EXPECT_FALSE(core::crossing(std::vector<std::optional<Standing>>{standing(5, 3), std::nullopt, standing(5, 3)}));
}

TEST(Crossing, TellsWhatEachIsInAndLeavesOutWhoHasBothOrNone) {
  const auto records = core::crossing(std::vector<std::optional<Standing>>{
      standing(5, 20), standing(4, 21), standing(5, 20), standing(5, 21), standing(4, 20), std::nullopt});
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 6U);
  EXPECT_EQ(core::describe((*records)[0].value()), "barrier");
  EXPECT_EQ(core::describe((*records)[1].value()), "nonblocking allgather of 21 elements of 8 bytes");
  EXPECT_EQ((*records)[0], (*records)[2]);
  for (const std::size_t rank : {3U, 4U, 5U}) EXPECT_FALSE((*records)[rank]) << rank;
  const auto disagreement = core::judge(*records);
  EXPECT_EQ(disagreement.ranks, std::vector<std::size_t>{1});
  try {
    core::throw_mismatch({"barrier", 0, 6}, disagreement);
  } catch (const CollectiveMismatch& error) {
    EXPECT_EQ(error.field(), "operation");
  }
}

// The same operation, waited for here and not there, is another one.
TEST(Crossing, OfTheSameOperationIsOfTheOperation) {
  Aside none;
  Aside one;
  one.begin({.operation = Operation::Barrier, .sequence = 7});
  const auto records = core::crossing(std::vector<std::optional<Standing>>{
      Standing(3, {.operation = Operation::Barrier, .sequence = 3}, none), Standing(2, {}, one)});
  ASSERT_TRUE(records);
  EXPECT_THROW(core::throw_mismatch({"barrier", 0, 2}, core::judge(*records)), CollectiveMismatch);
  EXPECT_EQ(core::describe(core::judge(*records)), "rank 0 is in barrier, rank 1 in nonblocking barrier");
}

}  // namespace
