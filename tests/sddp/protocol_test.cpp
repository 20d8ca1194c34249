// The communication of training, call by call, as docs/sddp.md draws it.
#include <gtest/gtest.h>

#include <cobre/comm/observed.hpp>

#include "training.hpp"

namespace {

TEST(Protocol, IsOneAllgathervBetweenThePassesOneAStageOneOfBoundsAndAnAllreduce) {
  const sddp::Case data = test::small_case(2);
  ASSERT_EQ(data.dimensions.stages, 3U);
  std::vector<std::string> called;
  auto note = [&](const cobre::comm::ObservedOperation& operation) { called.emplace_back(operation.name); };
  const cobre::comm::LocalBackend alone;
  const auto trace = test::train_on(cobre::comm::Observed(alone, note), data, {});
  EXPECT_EQ(trace.back().lower, test::train(data).back().lower)
      << "a communicator that is watched is one like any other";
  // The cuts of all stages, and the states that they were made at.
  std::vector<std::string> expected(2, "create_shared_region");
  for (int iteration = 0; iteration < 2; ++iteration) {
    expected.emplace_back("allgatherv");                              // states
    for (int i = 0; i < 2; ++i) expected.emplace_back("allgatherv");  // the cuts of all stages but the last
    expected.emplace_back("allgatherv");                              // costs and values
    expected.emplace_back("allreduce");                               // effort, and who wants to stop
    for (int i = 0; i < 2; ++i) expected.emplace_back("fence");       // what was written is read from here on
  }
  EXPECT_EQ(called, expected);
}

}  // namespace
