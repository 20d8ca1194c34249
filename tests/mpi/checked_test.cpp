// COBRE_COMM_CHECK=1: the mismatches that shm and tcp always find are found on mpi too, with the same names. Runs on
// every rank of a launcher.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include "comm/backends/mpi/checker.hpp"
#include "fault/mismatch_table.hpp"
#include "ferrompi/mpi_main.hpp"
#include "support/environment.hpp"
#include "support/outcome.hpp"

namespace {

using namespace cobre::comm;
using mismatch::Call;
using namespace std::chrono_literals;

class CheckedMpi : public testing::Test {
 protected:
  CheckedMpi() { environment_.set("COBRE_COMM_CHECK", "1"); }

  static CommBackend backend() { return CommBackend(FerrompiBackend(test_mpi().world().native())); }

  // All ranks do `usual` but `odd_one`; every one of them must say the same, and its communicator is done for.
  static void expect_mismatch(std::size_t odd_one, const Call& usual, const Call& odd, const std::string& expected) {
    const CommBackend comm = backend();
    comm.barrier();
    EXPECT_EQ(test::outcome_of([&] { (comm.rank() == odd_one ? odd : usual)(comm); }),
              "CollectiveMismatch " + expected);
    EXPECT_EQ(test::outcome_of([&] { comm.barrier(); }), "InvalidCommunicator");
  }

  // The last rank means something else on a communicator that is not the one it was asked of: that one still works.
  using Outcome = std::string (*)(const CommBackend&, const Call&);
  static void expect_apart(Outcome outcome, const Call& usual, const Call& odd, const std::string& field) {
    const CommBackend comm = backend();
    const std::size_t last = comm.size() - 1;
    EXPECT_EQ(outcome(comm, comm.rank() == last ? odd : usual),
              "CollectiveMismatch " + field + (last == 1 ? " 0 1" : " " + std::to_string(last)) + "; fine");
  }

  test::ScopedEnvironment environment_;
};

TEST_F(CheckedMpi, WorksWhereAllAgree) {
  const CommBackend comm = backend();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(comm.allreduce(i, ReduceOp::Max), i);
  for (const auto& operation : mismatch::operations()) mismatch::call(operation)(comm);
  for (const auto& operation : mismatch::pairwise_lengths()) operation.make(3, 0)(comm);
}

TEST_F(CheckedMpi, FindsEveryArgumentOfEveryOperationThatDiffers) {
  const std::size_t size = backend().size();
  if (size == 1) return;  // nobody to differ from
  for (const auto& operation : mismatch::operations()) {
    for (const std::string& field : operation.fields) {
      SCOPED_TRACE(operation.name + " with another " + field);
      expect_mismatch(size - 1, call(operation), call(operation, mismatch::wrong.at(field)),
                      field + (size == 2 ? " 0 1" : " " + std::to_string(size - 1)));
    }
  }
}

TEST_F(CheckedMpi, FindsCallablesAndStructsAndNodesThatDiffer) {
  const std::size_t size = backend().size();
  if (size == 1) return;
  std::size_t odd_one = 0;
  for (const auto& difference : mismatch::differences()) {
    SCOPED_TRACE(difference.name);
    odd_one = (odd_one + 1) % size;
    expect_mismatch(odd_one, difference.usual, difference.odd,
                    difference.field + (size == 2 ? " 0 1" : " " + std::to_string(odd_one)));
  }
}

TEST_F(CheckedMpi, FindsEveryOperationWithEveryOther) {
  const std::size_t size = backend().size();
  if (size == 1) return;
  const auto all = mismatch::operations();
  for (std::size_t usual = 0; usual < all.size(); ++usual) {
    for (std::size_t odd = 0; odd < all.size(); ++odd) {
      if (odd == usual) continue;
      // More ranks than cores take some libraries long: there a third of the others each, to see who is named.
      if (size > 2 && (odd + 2 * usual) % 3 != 1) continue;
      SCOPED_TRACE(all[usual].name + " where one rank is in " + all[odd].name);
      const std::size_t odd_one = (usual + odd) % size;
      expect_mismatch(odd_one, call(all[usual]), call(all[odd]),
                      "operation" + (size == 2 ? " 0 1" : " " + std::to_string(odd_one)));
    }
  }
}

TEST_F(CheckedMpi, FindsEveryArgumentOfEveryRequestAndPlanThatDiffers) {
  if (backend().size() == 1) return;
  const auto face = [](const std::vector<mismatch::Operation>& table, Outcome outcome) {
    for (const auto& operation : table) {
      for (const std::string& field : operation.fields) {
        if (field == "reproducible") continue;  // takes a thread, which MPI must have been asked for
        SCOPED_TRACE(operation.name + " with another " + field);
        expect_apart(outcome, call(operation), call(operation, mismatch::wrong.at(field)), field);
      }
    }
  };
  face(mismatch::requests(), mismatch::outcome_of_request);
  face(mismatch::plans(), mismatch::outcome_of_plan);
}

TEST_F(CheckedMpi, FindsEveryRequestAndPlanWithEveryOther) {
  if (backend().size() == 1) return;
  const auto face = [](const std::vector<mismatch::Operation>& table, Outcome outcome) {
    for (const auto& usual : table) {
      for (const auto& odd : table) {
        if (usual.name == odd.name) continue;
        SCOPED_TRACE(usual.name + " where one rank is in " + odd.name);
        expect_apart(outcome, call(usual), call(odd), "operation");
      }
    }
  };
  face(mismatch::requests(), mismatch::outcome_of_request);
  face(mismatch::plans(), mismatch::outcome_of_plan);
}

// Where some began a request and others make a call that waits, nobody can know before time is up: who waits for a
// request may only be early.
TEST_F(CheckedMpi, FindsARequestOrPlanWithWhatWaitsWhenTimeIsUp) {
  environment_.set("COBRE_COMM_TIMEOUT_SECS", "1");
  const std::size_t size = backend().size();
  if (size == 1) return;
  for (const bool planned : {false, true}) {
    SCOPED_TRACE(planned ? "a plan of all but the last" : "a request of the last");
    const CommBackend comm = backend();
    const bool requests = (comm.rank() == size - 1) != planned;
    EXPECT_EQ(mismatch::outcome_of_parting(comm, requests, planned),
              mismatch::parted(requests, size == 2 ? "0 1" : std::to_string(size - 1)));
  }
}

TEST_F(CheckedMpi, SaysInWordsWhatARequestMet) {
  environment_.set("COBRE_COMM_TIMEOUT_SECS", "1");
  const CommBackend comm = backend();
  if (comm.size() != 3) return;  // the words are about three
  EXPECT_EQ(mismatch::words_of_parting(comm), mismatch::parted_in_words(comm.rank()));
}

TEST_F(CheckedMpi, FindsAFenceWithACallOfAllWhenTimeIsUp) {
  environment_.set("COBRE_COMM_TIMEOUT_SECS", "1");
  const CommBackend comm = backend();
  if (comm.size() == 1) return;
  const auto regions = mismatch::regions_of(comm);
  EXPECT_EQ(test::outcome_of([&] { comm.rank() == 1 ? regions[1].fence() : comm.barrier(); }),
            std::string("CollectiveMismatch operation") + (comm.size() == 2 ? " 0 1" : " 1"));
  EXPECT_EQ(test::outcome_of([&] { comm.barrier(); }), "InvalidCommunicator");
}

TEST_F(CheckedMpi, FindsLengthsThatOnlyTwoRanksKnowAndTellsTheThird) {
  if (backend().size() != 3) return;  // the table is of three
  for (const auto& [name, make, odd_one, expected] : mismatch::pairwise_lengths()) {
    SCOPED_TRACE(name);
    for (const std::size_t scale : {std::size_t{1}, std::size_t{5'000}}) {
      expect_mismatch(odd_one, make(scale, 0), make(scale, 1), expected);
    }
  }
}

TEST_F(CheckedMpi, FindsFencesOfDifferentRegions) {
  const FerrompiBackend comm(test_mpi().world().native());
  const auto first = comm.create_shared_region<int>(3);
  const auto second = comm.create_shared_region<int>(3);
  first.fence();
  second.fence();
  if (comm.size() == 1) return;
  const auto& mine = comm.rank() == 0 ? first : second;
  EXPECT_EQ(test::outcome_of([&] { mine.fence(); }),
            std::string("CollectiveMismatch count") + (comm.size() == 2 ? " 0 1" : " 0"));
  EXPECT_EQ(test::outcome_of([&] { first.fence(); }), "InvalidCommunicator");
  EXPECT_EQ(test::outcome_of([&] { comm.barrier(); }), "InvalidCommunicator");
}

TEST_F(CheckedMpi, FindsARankThatFencesWhereTheOthersOfItsNodeDivide) {
  const FerrompiBackend comm(test_mpi().world().native());
  const auto region = comm.create_shared_region<int>(3);
  comm.split_local()->barrier();
  if (comm.size() == 1) return;
  const auto meet = [&] {
    if (comm.rank() == 0) {
      region.fence();
    } else {
      comm.split_local()->barrier();
    }
  };
  EXPECT_EQ(test::outcome_of(meet), std::string("CollectiveMismatch operation") + (comm.size() == 2 ? " 0 1" : " 0"));
  EXPECT_EQ(test::outcome_of([&] { comm.barrier(); }), "InvalidCommunicator");
}

TEST_F(CheckedMpi, NamesTheRankThatDoesNotComeAndToThatOneThoseWhoGaveUp) {
  environment_.set("COBRE_COMM_TIMEOUT_SECS", "1");
  const CommBackend comm = backend();
  if (comm.size() == 1) return;
  if (comm.rank() != 0) {
    try {
      comm.barrier();
      ADD_FAILURE();
    } catch (const TimedOut& error) {
      EXPECT_EQ(error.missing_ranks(), std::vector<std::size_t>{0});
      EXPECT_GE(error.waited_seconds(), 1.0);
    }
  }
  test_mpi().world().barrier();
  if (comm.rank() == 0) {
    // All others have shown that they meant the same barrier, and none of them is in it any more.
    EXPECT_EQ(test::outcome_of([&] { comm.barrier(); }), comm.size() == 2 ? "TimedOut 1" : "TimedOut 1 2");
  }
  EXPECT_EQ(test::outcome_of([&] { comm.barrier(); }), "InvalidCommunicator");
}

TEST_F(CheckedMpi, WarnsOfTheMissingThroughTheLowestRankThatWaits) {
  const auto world = test_mpi().world();
  if (world.size() == 1) return;
  const int late = world.size() - 1;
  mpi::CollectiveChecker checker(world, std::nullopt, 100ms);
  std::vector<std::string> lines;
  set_warning_sink([&](std::string_view line) {
    lines.emplace_back(line);
    if (world.rank() == 0 && lines.size() == 3) world.send(1, late, 0);  // enough of it
  });
  world.barrier();
  if (world.rank() == late) {
    int word = 0;
    world.recv(word, 0, 0);
  }
  checker.compare({.operation = detail::Operation::Barrier});
  set_warning_sink({});
  if (world.rank() == late) return;
  const std::string about =
      "rank " + std::to_string(world.rank()) + " of " + std::to_string(world.size()) + " has been in barrier for ";
  for (const std::string& line : lines) EXPECT_TRUE(line.starts_with(about)) << line;
  if (world.rank() == 0) {
    ASSERT_GE(lines.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(lines[i].ends_with(std::to_string(late))) << lines[i];
  } else {
    // Rank 0 speaks for this one too, unless the machine is so busy that it has not been heard of either.
    for (const std::string& line : lines) {
      EXPECT_TRUE(line.find("missing: rank 0") != std::string::npos ||
                  line.find("missing: ranks 0") != std::string::npos)
          << line;
    }
  }
}

}  // namespace
