// Ranks that take no part in an operation on parts stay in step with the others: what comes next on the communicator
// finds them where they should be.
#include "ferrompi/ranks.hpp"

using namespace ferrompi;

namespace {

// The last rank has nothing to send and nothing to receive, and no memory either.
template <class Integer>
class EmptyParts : public Ranks {
 protected:
  EmptyParts() {
    for (int r = 0; r < size; ++r) counts.push_back(static_cast<Integer>(rank == size - 1 || r == size - 1 ? 0 : 2));
    displs = displacements(counts);
    length = rank == size - 1 ? 0 : 2 * (ranks - 1);
    send.assign(length, rank);
    recv.assign(length, -1);
  }

  void expect_exchanged(const std::vector<int>& data) const {
    for (std::size_t i = 0; i < data.size(); ++i) EXPECT_EQ(data[i], static_cast<int>(i / 2));
  }
  // As nonblocking operations, which libraries tell apart by counting them.
  void expect_in_step() const { EXPECT_EQ(world.iallreduce(1, ReduceOp::Sum).get(), size); }

  std::vector<Integer> counts;
  std::vector<Integer> displs;
  std::size_t length = 0;
  std::vector<int> send;
  std::vector<int> recv;
};

using Integers = testing::Types<int, std::size_t>;
TYPED_TEST_SUITE(EmptyParts, Integers);

}  // namespace

TYPED_TEST(EmptyParts, AreExchanged) {
  this->world.ialltoallv(this->send, this->counts, this->displs, this->recv, this->counts, this->displs).wait();
  this->expect_exchanged(this->recv);
  this->expect_in_step();
  auto plan =
      this->world.alltoallv_init(this->send, this->counts, this->displs, this->recv, this->counts, this->displs);
  for (int round = 0; round < 3; ++round) {
    std::ranges::fill(this->recv, -1);
    plan.start();
    plan.wait();
    this->expect_exchanged(this->recv);
  }
  this->expect_in_step();
}

TYPED_TEST(EmptyParts, AreExchangedInPlace) {
  this->world.ialltoallv_inplace(this->send, this->counts, this->displs).wait();
  this->expect_exchanged(this->send);
  this->expect_in_step();
  auto plan = this->world.alltoallv_init_inplace(this->send, this->counts, this->displs);
  for (int round = 0; round < 3; ++round) {
    std::ranges::fill(this->send, this->rank);
    plan.start();
    plan.wait();
    this->expect_exchanged(this->send);
  }
  this->expect_in_step();
}

TYPED_TEST(EmptyParts, AreGatheredAndScattered) {
  std::vector<TypeParam> parts(this->ranks, 2);
  parts.back() = 0;
  const auto places = displacements(parts);
  const std::size_t all = 2 * (this->ranks - 1);
  std::vector<int> own(this->rank == this->size - 1 ? 0 : 2, this->rank);
  std::vector<int> whole(this->rank == 0 ? all : 0);
  this->world.igatherv(own, whole, parts, places, 0).wait();
  this->expect_exchanged(whole);
  this->expect_in_step();
  std::ranges::fill(own, -1);
  this->world.iscatterv(whole, parts, places, own, 0).wait();
  EXPECT_EQ(own, std::vector<int>(own.size(), this->rank));
  this->expect_in_step();
  std::vector<int> everywhere(all);
  this->world.iallgatherv(own, everywhere, parts, places).wait();
  this->expect_exchanged(everywhere);
  this->expect_in_step();
}
