// The suite itself is under test here. All of it passes on the plainest right backend; and because a suite that cannot
// fail proves nothing, some case fails for every fault that is planted.

#include <gtest/gtest-spi.h>

#include <concepts>
#include <exception>
#include <utility>

#include "conformance/conformance.hpp"
#include "conformance/reference_backend.hpp"
#include "conformance/worlds.hpp"

namespace {

using conformance::Fault;
using conformance::ReferenceRanks;
using World = conformance::ThreadWorld<ReferenceRanks>;

const bool joined = conformance::join<World>("Reference", conformance::full_suite<ReferenceRanks::Communicator>());

// Up to 64 ranks show each other what they have; more add accumulators at once.
TEST(ReproducibleSum, IsExactOverAnyNumberOfRanks) {
  for (const std::size_t ranks : {63U, 64U, 65U, 80U}) {
    const auto of = [](std::size_t rank) { return conformance::contribution<double>(rank, 1 + rank % 5, 1); };
    const double exact = conformance::exact_sum<double>(ranks, of);
    World::run(ranks, [&](const ReferenceRanks::Communicator& comm) {
      EXPECT_TRUE(conformance::same(comm.reproducible_sum(of(comm.rank())), exact)) << "over " << ranks << " ranks";
      // The few numbers of most do not hide what one rank has.
      const bool last = comm.rank() + 1 == comm.size();
      EXPECT_EQ(comm.reproducible_sum(last ? std::vector{1e300, 1e-300, -1e300} : std::vector<double>()), 1e-300);
      EXPECT_EQ(comm.reproducible_sum(comm.rank() == 1 ? 1.0F : last ? 0x1p-24F : 0x1p-80F), 1.0F + 0x1p-23F);
    });
  }
}

// One more fault, of which no backend can be told to have it: what a callable throws is rethrown above all of them.
class Swallowing : public cobre::comm::detail::Collectives<Swallowing> {
 public:
  explicit Swallowing(const ReferenceRanks::Communicator& comm) : comm_(comm) {}
  std::size_t rank() const noexcept { return comm_.rank(); }
  std::size_t size() const noexcept { return comm_.size(); }

 private:
  friend class cobre::comm::detail::Collectives<Swallowing>;
  template <class Call>
  void execute(const cobre::comm::detail::OperationRecord& record, Call call) const {
    if constexpr (std::derived_from<Call, cobre::comm::detail::AllreduceCall>) {
      auto* const thrown = const_cast<std::exception_ptr*>(std::exchange(call.thrown, nullptr));
      comm_.conduct(record, call);
      if (thrown != nullptr) *thrown = nullptr;
    } else {
      comm_.conduct(record, call);
    }
  }

  const ReferenceRanks::Communicator& comm_;
};

TEST(SuiteFinds, WhereWhatACallableThrewIsSwallowedOnEveryRank) {
  for (const std::size_t ranks : {2U, 4U}) {
    testing::TestPartResultArray found;
    {
      const testing::ScopedFakeTestPartResultReporter collect(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &found);
      World::run(ranks, [](const ReferenceRanks::Communicator& comm) {
        (void)conformance::expect_failure_by_callable(Swallowing(comm), 3, [](std::size_t) { return true; });
      });
    }
    EXPECT_EQ(found.size(), 1) << "of rank 0 of " << ranks;
  }
}

class SuiteFindsFault : public testing::TestWithParam<Fault> {};

TEST_P(SuiteFindsFault, InSomeCase) {
  const auto suite = conformance::full_suite<ReferenceRanks::Communicator>([](std::size_t) { return 100; });
  ReferenceRanks::planted = GetParam();
  testing::TestPartResultArray found;
  {
    const testing::ScopedFakeTestPartResultReporter collect(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &found);
    for (const auto& one : suite.cases()) {
      World::run(4, one.body);
      if (found.size() > 0) break;
    }
  }
  ReferenceRanks::planted = Fault::None;
  EXPECT_GT(found.size(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Planted, SuiteFindsFault,
    testing::Values(Fault::BarrierDoesNothing, Fault::BroadcastAlwaysFromRankZero, Fault::BroadcastForgetsTheLastByte,
                    Fault::ReductionInRankOrderInsteadOfTheTree, Fault::ReductionForgetsTheLastRank,
                    Fault::ReductionSwapsItsArguments, Fault::ReductionWritesIntoTheSendBuffer,
                    Fault::ReductionOfThePreviousCall, Fault::GatherIgnoresDisplacements, Fault::GatherClearsGaps,
                    Fault::GatherMixesUpTwoRanks, Fault::RegionIsNotShared, Fault::RegionIsNotZeroFilled,
                    Fault::FenceDoesNothing, Fault::EverybodyIsLeader, Fault::KeepsGoingAfterACallableThrew,
                    Fault::GatherAlwaysToRankZero, Fault::ScatterGivesEveryoneTheFirstBlock,
                    Fault::AlltoallIsNotTransposed, Fault::ReduceAlwaysToRankZero,
                    Fault::ScanInRankOrderInsteadOfTheTree, Fault::ExscanIncludesTheRankItself,
                    Fault::ReduceScatterGivesTheFirstBlock, Fault::MessagesOvertake, Fault::RealmsMeet,
                    Fault::TagIgnored, Fault::MisfitIsLost, Fault::DroppedReceiveTakesItsMessage, Fault::ColourIgnored,
                    Fault::KeyIgnored, Fault::PartsShareTheirMessages));

}  // namespace
