// Ranks that call different things: everyone hears of it, and who and what it was, whatever lies between them.

#include "fault/mismatch.hpp"

namespace {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;
using mismatch::Call;
using test::outcome_of;

class Mismatch : public mismatch::OnEveryBackend {};

void barrier(const CommBackend& comm) {
  comm.barrier();
}

template <class T>
Call allreduce(std::size_t count, ReduceOp op = ReduceOp::Sum) {
  return [=](const CommBackend& comm) {
    std::vector<T> data(count, T{1});
    comm.allreduce_inplace(data, op);
  };
}

template <class T = double>
Call broadcast(std::size_t count, std::size_t root) {
  return [=](const CommBackend& comm) {
    std::vector<T> data(count);
    comm.broadcast(data, root);
  };
}

// Rank r gives r + 1 elements, as all know, but for one rank that believes something else of itself.
Call allgatherv(std::size_t extra_of_last) {
  return [=](const CommBackend& comm) {
    std::vector<std::size_t> counts;
    std::vector<std::size_t> displs;
    for (std::size_t rank = 0; rank < comm.size(); ++rank) {
      counts.push_back(rank + 1 + (rank + 1 == comm.size() ? extra_of_last : 0));
      displs.push_back(100 * rank);
    }
    std::vector<float> send(counts[comm.rank()]);
    std::vector<float> recv(100 * comm.size() + 50);
    comm.allgatherv(send, recv, counts, displs);
  };
}

TEST_P(Mismatch, OfTheOperation) {
  expect_mismatch(3, 1, barrier, allreduce<double>(1), "operation 1");
  expect_mismatch(2, 0, barrier, allreduce<double>(1000), "operation 0 1");
  expect_mismatch(4, 3, broadcast(10, 0), barrier, "operation 3");
  expect_mismatch(4, 0, broadcast(10, 0), barrier, "operation 0");
}

TEST_P(Mismatch, OfTheWayToMakeACommunicator) {
  const Call split = [](const CommBackend& comm) { (void)comm.split(0); };
  const Call duplicate = [](const CommBackend& comm) { (void)comm.duplicate(); };
  expect_mismatch(3, 2, split, duplicate, "operation 2");
  expect_mismatch(3, 1, duplicate, barrier, "operation 1");
}

TEST_P(Mismatch, OfTheReduction) {
  expect_mismatch(3, 2, allreduce<double>(1), allreduce<double>(1, ReduceOp::Max), "op 2");
  expect_mismatch(3, 0, allreduce<double>(100'000), allreduce<double>(100'000, ReduceOp::Max), "op 0");
}

TEST_P(Mismatch, OfTheType) {
  expect_mismatch(3, 2, allreduce<double>(4), allreduce<float>(4), "type 2");
  expect_mismatch(3, 1, broadcast<double>(4, 0), broadcast<float>(4, 0), "type 1");
}

TEST_P(Mismatch, OfTheCountAcrossEveryAlgorithm) {
  for (const std::size_t count : {3U, 100U, 5'000U, 50'000U}) {
    expect_mismatch(3, 1, allreduce<double>(count), allreduce<double>(count + 1), "count 1");
    expect_mismatch(3, 1, broadcast(count, 0), broadcast(count + 1, 0), "count 1");
    expect_mismatch(3, 0, broadcast(count, 0), broadcast(count + 1, 0), "count 0");
  }
  expect_mismatch(2, 1, allreduce<double>(1), allreduce<double>(100'000), "count 0 1");
  expect_mismatch(2, 1, broadcast(100'000, 0), broadcast(1, 0), "count 0 1");
}

TEST_P(Mismatch, OfAnyOfTheCountsOfAGather) {
  expect_mismatch(3, 2, allgatherv(0), allgatherv(7), "counts 2");
  expect_mismatch(4, 0, allgatherv(0), allgatherv(40), "counts 0");
}

TEST_P(Mismatch, OfTheRootEvenWhereBothBelieveTheyAreIt) {
  for (const std::size_t count : {1U, 100U, 50'000U}) {
    expect_mismatch(3, 2, broadcast(count, 0), broadcast(count, 1), "root 2");
    expect_mismatch(3, 1, broadcast(count, 0), broadcast(count, 1), "root 1");
    expect_mismatch(2, 1, broadcast(count, 0), broadcast(count, 1), "root 0 1");
    expect_mismatch(2, 1, broadcast(count, 1), broadcast(count, 0), "root 0 1");
  }
}

TEST_P(Mismatch, OfEquallyManyRanksNamesThemAll) {
  auto ranks = start(4, [](const CommBackend& comm) -> std::string {
    return outcome_of([&] { allreduce<double>(comm.rank() < 2 ? 5 : 6)(comm); });
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "CollectiveMismatch count 0 1 2 3");
}

TEST_P(Mismatch, IsFoundEvenIfOnlyBroadcastsFollow) {
  auto ranks = start(2, [](const CommBackend& comm) -> std::string {
    return outcome_of([&] {
      for (int i = 0; i < 1000; ++i) (void)comm.broadcast(i, comm.rank());
    });
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "CollectiveMismatch root 0 1");
}

TEST_P(Mismatch, SaysInWordsWhatEachSideDoes) {
  auto ranks = start(3, [](const CommBackend& comm) -> std::string {
    try {
      if (comm.rank() == 2) {
        allreduce<float>(8, ReduceOp::Max)(comm);
      } else {
        broadcast(7, 1)(comm);
        comm.barrier();
      }
    } catch (const cobre::comm::CollectiveMismatch& error) {
      return error.what();
    }
    return "fine";
  });
  EXPECT_EQ(
      ranks[2].words(),
      "allreduce on rank 2 of 3: the ranks do not agree on the operation: rank 0 is in broadcast of 7 x double from "
      "root 1, rank 2 in allreduce of 8 x float with Max; all ranks must call the same operations in the same order "
      "with arguments that fit together (differing: rank 2)");
}

TEST_P(Mismatch, LeavesAThrowingReductionsRankBrokenAndTheOthersInformed) {
  struct Unhappy : std::runtime_error {
    using runtime_error::runtime_error;
  };
  for (const std::size_t count : {1U, 1000U, 20'000U, 200'000U}) {
    auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
      std::vector<double> data(count, 1.0);
      const bool unhappy = comm.rank() == 1;
      std::string first;
      try {
        comm.allreduce_inplace(data, [&](double a, double b) -> double {
          if (unhappy) throw Unhappy("no");
          return a + b;
        });
        first = data == std::vector<double>(count, 3.0) ? "fine" : "garbage";
      } catch (const Unhappy&) {
        first = "rethrown";
      } catch (const cobre::comm::CollectiveFailed&) {
        first = "told";
      }
      return first + "; " + outcome_of([&] { comm.barrier(); });
    });
    EXPECT_EQ(ranks[1].words(), "rethrown; InvalidCommunicator");
    for (const std::size_t rank : {0U, 2U}) {
      const std::string words = ranks[rank].words();
      EXPECT_TRUE(words == "told; InvalidCommunicator" ||
                  words.starts_with("fine; other: barrier on rank " + std::to_string(rank)))
          << words;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Mismatch, testing::ValuesIn(fault::layouts()), fault::name_of);

}  // namespace
