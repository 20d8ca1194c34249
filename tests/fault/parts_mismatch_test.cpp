// Operations that move parts, where ranks do not mean the same: in what all must agree on, and in the lengths that only
// two of them know.

#include <gtest/gtest.h>

#include "support/shm_ranks.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::ShmBackend;
using cobre::comm::TcpBackend;
using test::outcome_of;

struct Shm {
  using Comm = ShmBackend;
  static auto configs(std::size_t size) { return test::shm_configs(size); }
};
struct Tcp {
  using Comm = TcpBackend;
  static auto configs(std::size_t size) { return test::tcp_configs(size); }
};

template <class Backend>
class PartsMismatch : public testing::Test {
 protected:
  using Comm = typename Backend::Comm;
  using Call = std::function<void(const Comm&)>;

  // All of three ranks do `usual` but `odd_one`; every one of them must say the same.
  static void expect_mismatch(std::size_t odd_one, const Call& usual, const Call& odd, const std::string& expected) {
    auto ranks = test::start_ranks(Backend::configs(3), [&](const Comm& comm) -> std::string {
      const std::string first = outcome_of([&] {
        (comm.rank() == odd_one ? odd : usual)(comm);
        comm.barrier();  // what a rank that only sends cannot be told at once, the next synchronising call does
      });
      return first + "; " + outcome_of([&] { comm.barrier(); });
    });
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      EXPECT_EQ(ranks[rank].words(), "CollectiveMismatch " + expected + "; InvalidCommunicator") << "rank " << rank;
    }
  }

  // Rank r has r + 2 elements for the last one, which expects `extra` more of rank 0.
  static Call gatherv(std::size_t scale, std::size_t extra) {
    return [=](const Comm& comm) {
      std::vector<std::size_t> counts;
      std::vector<std::size_t> displs;
      for (std::size_t rank = 0; rank < comm.size(); ++rank) {
        counts.push_back((rank + 2) * scale + (rank == 0 ? extra : 0));
        displs.push_back(100 * scale * rank);
      }
      const std::vector<float> send((comm.rank() + 2) * scale);
      std::vector<float> recv(100 * scale * comm.size());
      comm.gatherv(send, recv, counts, displs, comm.size() - 1);
    };
  }

  static Call scatterv(std::size_t scale, std::size_t extra) {
    return [=](const Comm& comm) {
      const std::vector<std::size_t> counts(comm.size(), 3 * scale);
      const std::vector<std::size_t> displs(comm.size(), scale);
      const std::vector<float> send(4 * scale);
      std::vector<float> recv(3 * scale + extra);
      comm.scatterv(send, counts, displs, recv, 0);
    };
  }

  static Call alltoallv(std::size_t scale, std::size_t extra) {
    return [=](const Comm& comm) {
      const std::vector<std::size_t> sent(comm.size(), scale);
      std::vector<std::size_t> received(comm.size(), scale);
      if (comm.rank() != 0) received[0] += extra;
      std::vector<std::size_t> displs;
      for (std::size_t rank = 0; rank < comm.size(); ++rank) displs.push_back(2 * scale * rank);
      const std::vector<double> send(2 * scale * comm.size());
      std::vector<double> recv(2 * scale * comm.size());
      comm.alltoallv(send, sent, displs, recv, received, displs);
    };
  }
};

using Backends = testing::Types<Shm, Tcp>;
TYPED_TEST_SUITE(PartsMismatch, Backends, );

TYPED_TEST(PartsMismatch, OfLengthsThatOnlyTwoRanksKnowNamesThem) {
  for (const std::size_t scale : {1U, 500U, 50'000U}) {
    this->expect_mismatch(2, this->gatherv(scale, 0), this->gatherv(scale, 1), "counts 0 2");
    this->expect_mismatch(2, this->scatterv(scale, 0), this->scatterv(scale, 1), "counts 0 2");
    this->expect_mismatch(1, this->alltoallv(scale, 0), this->alltoallv(scale, 1), "counts 0 1");
  }
}

TYPED_TEST(PartsMismatch, OfLengthsSaysInWordsWhoExpectsWhat) {
  auto ranks = test::start_ranks(TypeParam::configs(3), [&](const typename TypeParam::Comm& comm) -> std::string {
    try {
      this->gatherv(1, comm.rank() == 2 ? 5 : 0)(comm);
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

TYPED_TEST(PartsMismatch, OfWhatAllMustAgreeOnNamesTheOddOne) {
  const auto gather = [](std::size_t root) {
    return [=](const typename TypeParam::Comm& comm) { (void)comm.gather(1.0, root); };
  };
  const auto scan = [](ReduceOp op) { return [=](const typename TypeParam::Comm& comm) { (void)comm.scan(1.0, op); }; };
  const auto scatter = [](std::size_t count) {
    return [=](const typename TypeParam::Comm& comm) {
      std::vector<double> recv(count);
      comm.scatter(std::vector<double>(count * comm.size()), recv, 1);
    };
  };
  this->expect_mismatch(1, gather(0), gather(2), "root 1");
  this->expect_mismatch(0, gather(1), gather(0), "root 0");
  this->expect_mismatch(2, gather(1), scan(ReduceOp::Sum), "operation 2");
  this->expect_mismatch(2, scan(ReduceOp::Sum), scan(ReduceOp::Max), "op 2");
  this->expect_mismatch(2, scatter(3), scatter(4), "count 2");
  this->expect_mismatch(2, scatter(50'000), scatter(3), "count 2");
  this->expect_mismatch(
      1, [](const typename TypeParam::Comm& comm) { (void)comm.allgather(1.0); },
      [](const typename TypeParam::Comm& comm) { (void)comm.allgather(1.0F); }, "type 1");
}

}  // namespace
