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

TEST_P(MismatchMatrix, OfCallablesAndStructsAndNodes) {
  std::size_t odd_one = 0;
  for (const Difference& difference : differences()) {
    SCOPED_TRACE(difference.name);
    odd_one = (odd_one + 1) % 3;
    expect_mismatch(3, odd_one, difference.usual, difference.odd, difference.field + " " + std::to_string(odd_one));
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

// Later requests and the rounds of a plan are found out when time is up: until then a rank that waits for one may only
// be early. Each lane is there, and each plan is made, before the ranks part.
class RequestMismatch : public mismatch::OnEveryBackend {};
INSTANTIATE_TEST_SUITE_P(Everywhere, RequestMismatch, testing::ValuesIn(fault::layouts()), fault::name_of);

TEST_P(RequestMismatch, WithWhatWaitsNamesTheOddOneWhenTimeIsUp) {
  const fault::Patience patience{.timeout = std::chrono::seconds(1)};
  struct Case {
    std::size_t size;
    std::size_t odd_one;
    bool odd_requests;
    bool planned;
    std::string expected;
  };
  const std::vector<Case> cases{
      {3, 1, true, false, "1"}, {3, 2, false, true, "2"}, {3, 0, true, true, "0"}, {2, 0, true, false, "0 1"}};
  std::vector<std::vector<test::Process>> jobs;  // at once, because each waits
  for (const Case& one : cases) {
    jobs.push_back(start(
        one.size,
        [&](const CommBackend& comm) {
          return outcome_of_parting(comm, (comm.rank() == one.odd_one) == one.odd_requests, one.planned);
        },
        patience));
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (std::size_t rank = 0; rank < cases[i].size; ++rank) {
      const bool requests = (rank == cases[i].odd_one) == cases[i].odd_requests;
      EXPECT_EQ(jobs[i][rank].words(), parted(requests, cases[i].expected)) << "case " << i << ", rank " << rank;
    }
  }
}

TEST_P(RequestMismatch, SaysInWordsWhatEachSideDoes) {
  auto ranks = start(3, words_of_parting, {.timeout = std::chrono::seconds(1)});
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(ranks[rank].words(), parted_in_words(rank));
}

TEST_P(RequestMismatch, WithNothingAtAllNamesThoseWhoDoNothing) {
  test::Shared<std::atomic<bool>> over;
  auto ranks = start(3,
                     [&](const CommBackend& comm) -> std::string {
                       for (int i = 0; i < lanes; ++i) comm.ibarrier().wait();
                       if (comm.rank() != 1) {
                         test::eventually([&] { return over->load(); });
                         return "did nothing";
                       }
                       const std::string words = test::outcome_of([&] { comm.ibarrier().wait(); });
                       *over = true;
                       return words;
                     },
                     {.timeout = std::chrono::seconds(1)});
  EXPECT_EQ(ranks[1].words(), "TimedOut 0 2");
  for (const std::size_t rank : {0U, 2U}) EXPECT_EQ(ranks[rank].words(), "did nothing");
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

// The node's communicator is made of the memory in which regions are fenced.
TEST_P(FenceMismatch, WithANodesCommunicatorInTheMakingNamesTheOddOne) {
  if (!GetParam().regions_are_shared) return;
  const Call divide = [](const CommBackend& comm) { (void)regions_of(comm), comm.split_local()->barrier(); };
  expect_mismatch(3, 1, fence_of(0), divide, "operation 1");
  expect_mismatch(3, 2, divide, fence_of(1), "operation 2");
}

// Once it is made, its barriers are no operations of the job: who waits there, and who fences, is missed by the other.
TEST_P(FenceMismatch, WithABarrierOfANodesCommunicatorEndsWhenTimeIsUp) {
  if (!GetParam().regions_are_shared) return;
  test::Shared<test::Meeting> over;  // who leaves is missed for that
  auto ranks = start(3,
                     [&](const CommBackend& comm) {
                       const auto regions = regions_of(comm);
                       const auto node = comm.split_local();
                       const auto meet = [&] { comm.rank() == 1 ? regions[0].fence() : node->barrier(); };
                       const std::string first = test::outcome_of(meet);
                       over->wait_for(3);
                       return first + "; " + test::outcome_of(meet);
                     },
                     {.timeout = std::chrono::seconds(1)});
  EXPECT_EQ(ranks[1].words(), "TimedOut 0 2; InvalidCommunicator");
  for (const std::size_t rank : {0U, 2U}) EXPECT_EQ(ranks[rank].words(), "TimedOut 1; InvalidCommunicator");
}

// Where only some do: the fence is among neighbours, the barrier among all. Of four ranks one speaks for each host; of
// five all speak for themselves.
class HostsFenceMismatch : public mismatch::OnEveryBackend {};
INSTANTIATE_TEST_SUITE_P(Everywhere, HostsFenceMismatch, testing::ValuesIn(fault::layouts()), fault::name_of);

TEST_P(HostsFenceMismatch, OfOneRankWithABarrierOfTheOthersNamesIt) {
  if (!GetParam().regions_are_shared) return;
  for (const std::size_t size : {4U, 5U}) {
    auto ranks = start(size, [](const CommBackend& comm) {
      const auto regions = regions_of(comm);
      const std::string first = test::outcome_of([&] { comm.rank() == 1 ? regions[1].fence() : comm.barrier(); });
      // Who was told by a region may be told once more by the communicator.
      const std::string second = test::outcome_of([&] { comm.barrier(); });
      const bool again = comm.rank() == 1 && second == first;
      return first + "; " + (again ? test::outcome_of([&] { comm.barrier(); }) : second);
    });
    for (auto& rank : ranks) EXPECT_EQ(rank.words(), "CollectiveMismatch operation 1; InvalidCommunicator");
  }
}

TEST_P(MismatchMatrix, OfEveryOperationWithEveryOther) {
  auto all = operations();
  // To divide in another way is another record on the same path: differences() has those.
  std::erase_if(all, [](const Operation& one) { return one.name == "duplicate" || one.name == "node"; });
  for_every_pair(all, [](std::size_t odd_one, const Operation& usual, const Operation& odd) {
    expect_mismatch(3, odd_one, call(usual), call(odd), "operation " + std::to_string(odd_one));
  });
}

}  // namespace
