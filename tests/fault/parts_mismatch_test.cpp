// Operations that move and fold parts, where ranks do not mean the same: in what all must agree on, and in the lengths
// that only two of them know.

#include "fault/mismatch.hpp"

namespace {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;
using mismatch::Call;

Call gather(std::size_t root) {
  return [=](const CommBackend& comm) { (void)comm.gather(1.0, root); };
}

Call scatter(std::size_t count) {
  return [=](const CommBackend& comm) {
    std::vector<double> recv(count);
    comm.scatter(std::vector<double>(count * comm.size()), recv, 1);
  };
}

Call alltoall(std::size_t count) {
  return [=](const CommBackend& comm) {
    std::vector<double> recv(count * comm.size());
    comm.alltoall(std::vector<double>(count * comm.size()), recv);
  };
}

Call reduce(std::size_t count, std::size_t root) {
  return [=](const CommBackend& comm) {
    std::vector<double> recv(count);
    comm.reduce(std::vector<double>(count), recv, ReduceOp::Sum, root);
  };
}

Call scan(ReduceOp op) {
  return [=](const CommBackend& comm) { (void)comm.scan(1.0, op); };
}

template <class T>
void allgather(const CommBackend& comm) {
  (void)comm.allgather(T{1});
}

class PartsMismatch : public mismatch::OnEveryBackend {};

TEST_P(PartsMismatch, OfLengthsThatOnlyTwoRanksKnowNamesThem) {
  for (const std::size_t scale : {1U, 500U, 50'000U}) {
    for (const auto& [name, make, odd_one, expected] : mismatch::pairwise_lengths()) {
      SCOPED_TRACE(name);
      expect_mismatch(3, odd_one, make(scale, 0), make(scale, 1), expected);
    }
  }
}

TEST_P(PartsMismatch, OfLengthsSaysInWordsWhoExpectsWhat) {
  auto ranks = start(3, [](const CommBackend& comm) -> std::string {
    try {
      mismatch::gatherv(1, comm.rank() == 2 ? 5 : 0)(comm);
      comm.barrier();
    } catch (const cobre::comm::CollectiveMismatch& error) {
      return error.what();
    }
    return "fine";
  });
  EXPECT_EQ(ranks[2].words(),
            "gatherv on rank 2 of 3: the ranks do not agree on the counts: rank 0 sends 2 elements to rank 2, which "
            "expects 7; all ranks must call the same operations in the same order with arguments that fit together "
            "(differing: ranks 0 and 2)");
}

TEST_P(PartsMismatch, OfWhatAllMustAgreeOnNamesTheOddOne) {
  expect_mismatch(3, 1, gather(0), gather(2), "root 1");
  expect_mismatch(3, 0, gather(1), gather(0), "root 0");
  expect_mismatch(3, 2, gather(1), scan(ReduceOp::Sum), "operation 2");
  expect_mismatch(3, 2, scan(ReduceOp::Sum), scan(ReduceOp::Max), "op 2");
  expect_mismatch(3, 1, allgather<double>, allgather<float>, "type 1");
}

TEST_P(PartsMismatch, OfTheLengthOfABlockIsFoundAtEverySize) {
  for (const std::size_t count : {2U, 500U, 50'000U}) {
    expect_mismatch(3, 2, scatter(count), scatter(count + 1), "count 2");
    expect_mismatch(3, 0, alltoall(count), alltoall(3), "count 0");
    expect_mismatch(3, 1, reduce(count, 2), reduce(count + 1, 2), "count 1");
    expect_mismatch(3, 1, reduce(count, 2), reduce(count, 0), "root 1");
  }
}

// Each believes that the other is the root: both send, and nobody waits for anything.
TEST_P(PartsMismatch, IsFoundEvenIfOnlyRootedOperationsFollow) {
  auto ranks = start(2, [](const CommBackend& comm) -> std::string {
    return test::outcome_of([&] {
      for (int i = 0; i < 1000; ++i) (void)comm.gather(i, 1 - comm.rank());
    });
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "CollectiveMismatch root 0 1");
}

INSTANTIATE_TEST_SUITE_P(Everywhere, PartsMismatch, testing::ValuesIn(fault::layouts()), fault::name_of);

}  // namespace
