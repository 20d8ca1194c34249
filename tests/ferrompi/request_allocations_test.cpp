// Waiting for many requests allocates nothing once as many were waited for before. A program of its own, because it
// puts a counter in the place of the allocator.
#include "ferrompi/ranks.hpp"
#include "support/allocator.hpp"

using namespace ferrompi;

namespace {

using test::allocations_of;

// The functions that take a range, by the names that the set has.
struct Range {
  std::vector<Request> requests;

  void add(Request request) { requests.push_back(std::move(request)); }
  void clear() { requests.clear(); }
  void wait_all() { ferrompi::wait_all(requests); }
  bool test_all() { return ferrompi::test_all(requests); }
  auto wait_any() { return ferrompi::wait_any(requests); }
  auto test_any() { return ferrompi::test_any(requests); }
  auto wait_some() { return ferrompi::wait_some(requests); }
  auto test_some() { return ferrompi::test_some(requests); }
};

template <class Set>
class Allocations : public Ranks {
 protected:
  static constexpr std::size_t messages = 10;

  std::array<int, messages> in{};
  std::array<int, messages> out{};
  Set set;

  // Messages around the ring, which `finish` brings to their end; how much was allocated meanwhile.
  template <class Finish>
  unsigned long round(int number, Finish finish) {
    set.clear();
    for (std::size_t i = 0; i < messages; ++i) {
      out[i] = 1000 * number + 100 * rank + static_cast<int>(i);
      set.add(world.irecv(in[i], previous, static_cast<int>(i)));
      set.add(world.isend(std::span(&out[i], 1), next, static_cast<int>(i)));
    }
    const auto allocated = allocations_of(finish);
    for (std::size_t i = 0; i < messages; ++i) {
      EXPECT_EQ(in[i], 1000 * number + 100 * previous + static_cast<int>(i));
    }
    return allocated;
  }

  template <class Finish>
  void expect_none(Finish finish) {
    (void)round(0, finish);  // the first may make room
    for (int number = 1; number < 4; ++number) EXPECT_EQ(round(number, finish), 0U) << "round " << number;
  }
};

using Sets = testing::Types<Range, RequestSet>;
TYPED_TEST_SUITE(Allocations, Sets);

TYPED_TEST(Allocations, AreCountedHere) {
  EXPECT_EQ(allocations_of([] { ::operator delete(::operator new(1)); }), 1U);
}

TYPED_TEST(Allocations, AreNotMadeByWaitingForAll) {
  this->expect_none([&] { this->set.wait_all(); });
}

TYPED_TEST(Allocations, AreNotMadeByTestingAll) {
  this->expect_none([&] {
    while (!this->set.test_all()) {
    }
  });
}

TYPED_TEST(Allocations, AreNotMadeByWaitingForAny) {
  this->expect_none([&] {
    while (this->set.wait_any()) {
    }
  });
}

TYPED_TEST(Allocations, AreNotMadeByTestingForAny) {
  this->expect_none([&] {
    for (auto left = 2 * this->messages; left > 0;) {
      if (this->set.test_any()) --left;
    }
  });
}

TYPED_TEST(Allocations, AreNotMadeByWaitingForSome) {
  this->expect_none([&] {
    while (!this->set.wait_some().empty()) {
    }
  });
}

TYPED_TEST(Allocations, AreNotMadeByTestingForSome) {
  this->expect_none([&] {
    for (auto left = 2 * this->messages; left > 0;) left -= this->set.test_some().size();
  });
}

class PersistentAllocations : public Ranks {};

TEST_F(PersistentAllocations, AreNotMadeByStartingAllAndWaitingForAll) {
  std::vector<int> in(3);
  std::vector<int> out(3);
  std::vector<int> sum(3);
  std::vector<int> root(3);
  std::vector<PersistentRequest> plans;
  plans.push_back(world.recv_init(in, previous, 6));
  plans.push_back(world.send_init(out, next, 6));
  plans.push_back(world.allreduce_init(out, sum, ReduceOp::Sum));
  plans.push_back(world.broadcast_init(root, 0));
  for (int round = 0; round < 4; ++round) {
    out[2] = root[2] = 10 * rank + round;
    EXPECT_EQ(allocations_of([&] {
                start_all(plans);
                wait_all(plans);
              }),
              0U)
        << "round " << round;
    EXPECT_EQ(in[2], 10 * previous + round);
    EXPECT_EQ(sum[2], 5 * size * (size - 1) + size * round);
    EXPECT_EQ(root[2], round);
  }
}

}  // namespace
