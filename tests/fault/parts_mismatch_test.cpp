// Operations that move and fold parts, where ranks do not mean the same: in what all must agree on, and in the lengths
// that only two of them know.

#include "fault/mismatch.hpp"

namespace {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;
using mismatch::Call;
using Sizes = std::vector<std::size_t>;

// Rank r has (r + 2) * scale elements for the last one, which expects `extra` more of rank 0.
Call gatherv(std::size_t scale, std::size_t extra) {
  return [=](const CommBackend& comm) {
    Sizes counts;
    Sizes displs;
    for (std::size_t rank = 0; rank < comm.size(); ++rank) {
      counts.push_back((rank + 2) * scale + (rank == 0 ? extra : 0));
      displs.push_back(10 * scale * rank);
    }
    const std::vector<float> send((comm.rank() + 2) * scale);
    std::vector<float> recv(10 * scale * comm.size());
    comm.gatherv(send, recv, counts, displs, comm.size() - 1);
  };
}

// Rank 0 has as much for everyone as they expect, but for `extra`.
Call scatterv(std::size_t scale, std::size_t extra) {
  return [=](const CommBackend& comm) {
    const Sizes counts(comm.size(), 3 * scale);
    const Sizes displs(comm.size(), scale);
    const std::vector<float> send(4 * scale);
    std::vector<float> recv(3 * scale + extra);
    comm.scatterv(send, counts, displs, recv, 0);
  };
}

// Everyone expects `extra` more of rank 0 than it has.
Call alltoallv(std::size_t scale, std::size_t extra) {
  return [=](const CommBackend& comm) {
    const Sizes sent(comm.size(), scale);
    Sizes received(comm.size(), scale);
    if (comm.rank() != 0) received[0] += extra;
    Sizes displs;
    for (std::size_t rank = 0; rank < comm.size(); ++rank) displs.push_back(2 * scale * rank);
    const std::vector<double> send(2 * scale * comm.size());
    std::vector<double> recv(2 * scale * comm.size());
    comm.alltoallv(send, sent, displs, recv, received, displs);
  };
}

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
    expect_mismatch(3, 2, gatherv(scale, 0), gatherv(scale, 1), "counts 0 2");
    expect_mismatch(3, 2, scatterv(scale, 0), scatterv(scale, 1), "counts 0 2");
    expect_mismatch(3, 1, alltoallv(scale, 0), alltoallv(scale, 1), "counts 0 1");
  }
}

TEST_P(PartsMismatch, OfLengthsSaysInWordsWhoExpectsWhat) {
  auto ranks = start(3, [](const CommBackend& comm) -> std::string {
    try {
      gatherv(1, comm.rank() == 2 ? 5 : 0)(comm);
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

INSTANTIATE_TEST_SUITE_P(Everywhere, PartsMismatch, testing::ValuesIn(fault::backends()), fault::name_of);

}  // namespace
