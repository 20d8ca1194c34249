// Waiting for many requests allocates nothing once as many were waited for before. A program of its own, because it
// puts a counter in the place of the allocator.
#include "ferrompi/ranks.hpp"
#include "support/allocator.hpp"

using namespace ferrompi;

namespace {

int plans_of_mpi = 0;  // receives that were made and not freed

}  // namespace

extern "C" int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                             MPI_Request* request) {
  ++plans_of_mpi;
  return PMPI_Recv_init(buffer, count, type, source, tag, comm, request);
}

extern "C" int MPI_Request_free(MPI_Request* request) {
  --plans_of_mpi;
  return PMPI_Request_free(request);
}

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

class PersistentAllocations : public Ranks {
 protected:
  // Rounds of plans of every kind, which `finish` brings to their end; those before `from` may make room.
  template <class Finish>
  void expect_none(Finish finish, int from = 1) {
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
      const auto allocated = allocations_of([&] {
        start_all(plans);
        finish(std::span<PersistentRequest>(plans));
      });
      if (round >= from) {
        EXPECT_EQ(allocated, 0U) << "round " << round;
      }
      EXPECT_EQ(in[2], 10 * previous + round);
      EXPECT_EQ(sum[2], 5 * size * (size - 1) + size * round);
      EXPECT_EQ(root[2], round);
    }
  }
};

using Plans = std::span<PersistentRequest>;

TEST_F(PersistentAllocations, AreNotMadeByStartingAllAndWaitingForAll) {
  expect_none([](Plans plans) { wait_all(plans); }, 0);
}

TEST_F(PersistentAllocations, AreNotMadeByTestingAll) {
  expect_none([](Plans plans) {
    while (!test_all(plans)) {
    }
  });
}

TEST_F(PersistentAllocations, AreNotMadeByWaitingForAnyOrTestingForAny) {
  expect_none([](Plans plans) {
    while (wait_any(plans)) {
    }
  });
  expect_none([](Plans plans) {
    for (auto left = plans.size(); left > 0;) {
      if (test_any(plans)) --left;
    }
  });
}

TEST_F(PersistentAllocations, AreNotMadeByWaitingForSomeOrTestingForSome) {
  expect_none([](Plans plans) {
    while (!wait_some(plans).empty()) {
    }
  });
  expect_none([](Plans plans) {
    for (auto left = plans.size(); left > 0;) left -= test_some(plans).size();
  });
}

// Wherever memory runs out while a plan is made, MPI is left with no request that nobody has.
TEST_F(PersistentAllocations, ThatFailLeaveNoRequestOfMpiBehind) {
  plans_of_mpi = 0;
  int in = -1;
  unsigned long failures = 0;
  for (bool made = false; !made; ++failures) {
    test::until_one_is_refused = failures + 1;
    try {
      auto plan = world.recv_init(in, previous, 7);
      test::until_one_is_refused = 0;
      made = true;
      EXPECT_EQ(plans_of_mpi, 1);
      plan.start();
      world.send(rank, next, 7);
      plan.wait();
      EXPECT_EQ(in, previous);
    } catch (const std::bad_alloc&) {
      test::until_one_is_refused = 0;
    }
    EXPECT_EQ(plans_of_mpi, 0) << "where allocation " << failures + 1 << " failed";
  }
  EXPECT_GT(failures, 1U) << "none has failed";
}

}  // namespace
