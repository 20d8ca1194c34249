// Every operation against every other, and each with each of its arguments different on one rank: all of it is found,
// by every rank, and names that rank and what differs. `tests/mpi` has the same for mpi.

#include "fault/mismatch.hpp"

namespace {

using namespace mismatch;

class MismatchMatrix : public mismatch::OnEveryBackend {
 protected:
  using Outcome = std::string (*)(const CommBackend&, const Call&);

  // Three ranks, of which one means something else on a communicator that is not the one it was asked of.
  static void expect_apart(Outcome outcome, std::size_t odd_one, const Call& usual, const Call& odd,
                           const std::string& field) {
    auto ranks = start(3, [&](const CommBackend& comm) { return outcome(comm, comm.rank() == odd_one ? odd : usual); });
    for (auto& rank : ranks) {
      EXPECT_EQ(rank.words(), "CollectiveMismatch " + field + " " + std::to_string(odd_one) + "; fine");
    }
  }

  template <class Expect>
  static void for_every_pair(const std::vector<Operation>& all, Expect expect) {
    for (std::size_t usual = 0; usual < all.size(); ++usual) {
      for (std::size_t odd = 0; odd < all.size(); ++odd) {
        if (odd == usual) continue;
        SCOPED_TRACE(all[usual].name + " where one rank is in " + all[odd].name);
        expect((usual + odd) % 3, all[usual], all[odd]);
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, MismatchMatrix, testing::ValuesIn(fault::layouts()), fault::name_of);

TEST_P(MismatchMatrix, OfEveryArgumentOfEveryOperation) {
  for (const Operation& operation : operations()) {
    for (const std::string& field : operation.fields) {
      SCOPED_TRACE(operation.name + " with another " + field);
      expect_mismatch(3, 2, call(operation), call(operation, wrong.at(field)), field + " 2");
    }
  }
}

// Requests and plans are compared too, apart from the calls that are waited for at once: those still work.
TEST_P(MismatchMatrix, OfEveryArgumentOfEveryRequest) {
  for (const Operation& operation : requests()) {
    for (const std::string& field : operation.fields) {
      SCOPED_TRACE(operation.name + " with another " + field);
      expect_apart(outcome_of_request, 2, call(operation), call(operation, wrong.at(field)), field);
    }
  }
}

TEST_P(MismatchMatrix, OfEveryArgumentOfEveryPlan) {
  for (const Operation& operation : plans()) {
    for (const std::string& field : operation.fields) {
      SCOPED_TRACE(operation.name + " with another " + field);
      expect_apart(outcome_of_plan, 2, call(operation), call(operation, wrong.at(field)), field);
    }
  }
}

TEST_P(MismatchMatrix, OfEveryRequestWithEveryOther) {
  for_every_pair(requests(), [](std::size_t odd_one, const Operation& usual, const Operation& odd) {
    expect_apart(outcome_of_request, odd_one, call(usual), call(odd), "operation");
  });
}

TEST_P(MismatchMatrix, OfEveryPlanWithEveryOther) {
  for_every_pair(plans(), [](std::size_t odd_one, const Operation& usual, const Operation& odd) {
    expect_apart(outcome_of_plan, odd_one, call(usual), call(odd), "operation");
  });
}

// The first request and every plan make a communicator, which is an operation of the one that they are asked of.
TEST_P(MismatchMatrix, OfFirstRequestsAndPlansWithWhatWaits) {
  for (const auto& table : {requests(), plans()}) {
    for (const Operation& operation : table) {
      SCOPED_TRACE(operation.name + " where one rank waits");
      expect_mismatch(
          3, 1, call(operation), [](const CommBackend& comm) { (void)comm.allreduce(1, ReduceOp::Sum); },
          "operation 1");
    }
  }
}

// Where all ranks share a region.
class FenceMismatch : public mismatch::OnEveryBackend {};
INSTANTIATE_TEST_SUITE_P(Everywhere, FenceMismatch, testing::ValuesIn(fault::backends()), fault::name_of);

TEST_P(FenceMismatch, OfTheRegionOrOfTheOperationNamesTheOddOne) {
  if (!GetParam().regions_are_shared) return;  // each rank fences memory of its own, and meets nobody
  expect_mismatch(3, 1, fence_of(0), fence_of(1), "count 1");
  expect_mismatch(
      3, 1, fence_of(0), [](const CommBackend& comm) { (void)regions_of(comm), comm.barrier(); }, "operation 1");
}

TEST_P(MismatchMatrix, OfEveryOperationWithEveryOther) {
  auto all = operations();
  // To divide in another way is another record on the same path: see Mismatch.OfTheWayToMakeACommunicator.
  std::erase_if(all, [](const Operation& one) { return one.name == "duplicate" || one.name == "node"; });
  for_every_pair(all, [](std::size_t odd_one, const Operation& usual, const Operation& odd) {
    expect_mismatch(3, odd_one, call(usual), call(odd), "operation " + std::to_string(odd_one));
  });
}

}  // namespace
