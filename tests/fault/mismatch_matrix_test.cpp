// Every operation against every other, and each with each of its arguments different on one rank: all of it is found,
// by every rank, and names that rank and what differs. `tests/mpi` has the same for mpi.

#include "fault/mismatch.hpp"

namespace {

using namespace mismatch;

class MismatchMatrix : public mismatch::OnEveryBackend {};
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
TEST_P(MismatchMatrix, OfEveryArgumentOfOperationsThatNobodyWaitsForAtOnce) {
  for (const Operation& operation : nonblocking_operations()) {
    for (const std::string& field : operation.fields) {
      SCOPED_TRACE(operation.name + " with another " + field);
      auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
        const Arguments arguments = comm.rank() == 2 ? wrong.at(field) : Arguments{};
        const std::string outcome = test::outcome_of([&] { operation.run(comm, arguments); });
        return outcome + "; " + test::outcome_of([&] { comm.barrier(); });
      });
      for (auto& rank : ranks) EXPECT_EQ(rank.words(), "CollectiveMismatch " + field + " 2; fine");
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
  for (std::size_t usual = 0; usual < all.size(); ++usual) {
    for (std::size_t odd = 0; odd < all.size(); ++odd) {
      if (odd == usual) continue;
      SCOPED_TRACE(all[usual].name + " where one rank is in " + all[odd].name);
      expect_mismatch(3, (usual + odd) % 3, call(all[usual]), call(all[odd]),
                      "operation " + std::to_string((usual + odd) % 3));
    }
  }
}

}  // namespace
