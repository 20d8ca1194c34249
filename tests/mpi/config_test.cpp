// MpiConfig: what a program says itself counts, and the environment then does not. Runs on every rank of a launcher.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "ferrompi/mpi_main.hpp"
#include "support/environment.hpp"
#include "support/outcome.hpp"

namespace {

using namespace cobre::comm;
using namespace std::chrono_literals;

FerrompiBackend backend(const MpiConfig& config) {
  return {test_mpi().world().native(), config};
}

TEST(MpiConfig, ComesFromTheEnvironmentWhereTheProgramSaysNothing) {
  test::ScopedEnvironment environment;
  environment.set("COBRE_COMM_TIMEOUT_SECS", "17");
  environment.set("COBRE_COMM_CHECK", "1");
  const MpiConfig config = MpiConfig::from_environment();
  EXPECT_EQ(config.timeout, 17s);
  EXPECT_TRUE(config.check);
  environment.set("COBRE_COMM_TIMEOUT_SECS", "soon");
  EXPECT_THROW((void)FerrompiBackend::init(test_mpi().world().native()), InvalidConfiguration);
}

TEST(MpiConfig, LeavesTheEnvironmentUnreadWhereTheProgramHasOne) {
  test::ScopedEnvironment environment;
  environment.set("COBRE_COMM_TIMEOUT_SECS", "nonsense");
  environment.set("COBRE_COMM_CHECK", "nonsense");
  const auto comm = backend({});
  const auto part = comm.split(static_cast<int>(comm.rank() % 2), 0);
  EXPECT_EQ(part->allreduce(1, ReduceOp::Sum), static_cast<int>(part->size()));
  const auto again = part->duplicate();
  EXPECT_EQ(again.iallreduce(std::vector{2}, ReduceOp::Max).get(), std::vector{2});
}

TEST(MpiConfig, ThatMakesNoSenseIsRefused) {
  EXPECT_THROW((void)backend({.timeout = -1ms}), InitializationFailed);
  EXPECT_THROW((void)backend({.warn_after = 0ms}), InitializationFailed);
}

TEST(MpiConfig, HasOperationsComparedAlsoOnCommunicatorsMadeFromIt) {
  const auto comm = backend({.check = true});
  if (comm.size() == 1) return;  // nobody to differ from
  const auto made = comm.duplicate();
  const std::string outcome = test::outcome_of(
      [&] { made.rank() == 0 ? made.barrier() : static_cast<void>(made.allreduce(1, ReduceOp::Sum)); });
  EXPECT_TRUE(outcome.starts_with("CollectiveMismatch operation")) << outcome;
}

TEST(MpiConfig, BoundsMessagesAlsoOnCommunicatorsMadeFromIt) {
  const auto comm = backend({.timeout = 200ms, .warn_after = 50ms});
  if (comm.size() == 1) return;
  std::optional<std::string> first;
  set_warning_sink([&](std::string_view line) { first = first.value_or(std::string(line)); });
  const auto made = comm.duplicate();
  if (made.rank() == 0) {
    const auto channel = made.channel(1, 3);
    EXPECT_EQ(test::outcome_of([&] { (void)channel.recv<int>(); }), "TimedOut 1");
    EXPECT_TRUE(first.has_value());
  }
  set_warning_sink({});
  made.barrier();
}

}  // namespace
