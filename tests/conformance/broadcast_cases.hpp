#pragma once

#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

template <class C>
void broadcast_cases(Suite<C>& suite) {
  auto group = suite.group("Broadcast");

  group.add("GivesEveryRankTheRootsElementsFromEveryRoot", [](const C& comm) {
    for (std::size_t root = 0; root < comm.size(); ++root) {
      auto buffer = comm.rank() == root ? std::vector<double>{3.14, 2.72, 1.41} : std::vector<double>(3);
      comm.broadcast(buffer, root);
      EXPECT_TRUE(all_same(buffer, std::vector<double>{3.14, 2.72, 1.41}));
    }
  });

  group.add("KeepsEveryElementOfLongMessages", [](const C& comm) {
    for (const std::size_t count : {std::size_t{10'000}, std::size_t{1'000'003}}) {
      const std::size_t root = comm.size() - 1;
      auto buffer = comm.rank() == root ? contribution<double>(root, count, 7) : std::vector<double>(count);
      comm.broadcast(buffer, root);
      EXPECT_TRUE(all_same(buffer, contribution<double>(root, count, 7)));
    }
  });

  group.add("TakesAwkwardSizesOfOddElements", [](const C& comm) {
    for (const std::size_t count : awkward_sizes) {
      const std::size_t root = count % comm.size();
      auto buffer = comm.rank() == root ? contribution<Seven>(root, count, count) : std::vector<Seven>(count);
      comm.broadcast(buffer, root);
      EXPECT_TRUE(all_same(buffer, contribution<Seven>(root, count, count)));
    }
  });

  group.add("MovesEveryElementType", [](const C& comm) {
    const auto check = [&]<class T>() {
      auto buffer = comm.rank() == 0 ? contribution<T>(0, 5) : std::vector<T>(5);
      comm.broadcast(buffer, 0);
      EXPECT_TRUE(all_same(buffer, contribution<T>(0, 5)));
    };
    for_each_reducible_over<C>(check);
    for_each_type<Seven, Particle>(check);
    std::array<bool, 3> flags{comm.rank() == 0, false, comm.rank() == 0};
    comm.broadcast(flags, 0);
    EXPECT_EQ(flags, (std::array{true, false, true}));
  });

  group.add("OfNothingIsLegal", [](const C& comm) {
    std::vector<double> nothing;
    for (std::size_t root = 0; root < comm.size(); ++root) comm.broadcast(nothing, root);
    EXPECT_EQ(comm.broadcast(7, 0), 7);
  });

  group.add("ReturnsTheRootsValue", [](const C& comm) {
    for (std::size_t root = 0; root < comm.size(); ++root) {
      EXPECT_EQ(comm.broadcast(static_cast<int>(100 + comm.rank()), root), static_cast<int>(100 + root));
      const auto particle = Make<Particle>::from(comm.rank());
      EXPECT_EQ(comm.broadcast(particle, root), Make<Particle>::from(root));
    }
  });

  group.add("TakesEveryKindOfContiguousBuffer", [](const C& comm) {
    std::vector<int> vector{1, 2, 3, 4};
    std::array<int, 2> array{5, 6};
    int plain[3] = {7, 8, 9};
    comm.broadcast(vector, 0);
    comm.broadcast(std::span(vector).subspan(1, 2), 0);
    comm.broadcast(array, 0);
    comm.broadcast(plain, 0);
    EXPECT_EQ(vector, (std::vector{1, 2, 3, 4}));
    EXPECT_EQ(plain[2], 9);
  });

  group.add("RefusesARootOutsideTheCommunicatorAndStaysUsable", [](const C& comm) {
    std::vector<double> buffer(3, 1.0);
    const std::size_t wrong = comm.size() + 4;
    try {
      comm.broadcast(buffer, wrong);
      ADD_FAILURE() << "root " << wrong << " was accepted";
    } catch (const cobre::comm::InvalidRoot& error) {
      EXPECT_EQ(error.root(), wrong);
      EXPECT_EQ(error.size(), comm.size());
      EXPECT_EQ(error.operation(), "broadcast");
    }
    EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size()));
  });
}

}  // namespace conformance
