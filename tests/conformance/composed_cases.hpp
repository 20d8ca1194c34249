// Operations that are made of the collectives.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

/// Rank `rank`'s share of `all` where the ranks' shares grow or shrink with `slant`.
inline std::vector<double> share(const std::vector<double>& all, std::size_t rank, std::size_t size,
                                 std::size_t slant) {
  std::vector<double> mine;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t owner = slant == 0 ? i % size : (i * i / slant) % size;
    if (owner == rank) mine.push_back(all[i]);
  }
  return mine;
}

/// A vector that cannot become any longer where there is no room.
class Confined {
 public:
  explicit Confined(std::vector<double> elements, bool has_room)
      : elements_(std::move(elements)), has_room_(has_room) {}
  double* data() { return elements_.data(); }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  void resize(std::size_t count) {
    if (!has_room_) throw std::bad_alloc();
    elements_.resize(count);
  }
  [[nodiscard]] const std::vector<double>& elements() const { return elements_; }

 private:
  std::vector<double> elements_;
  bool has_room_;
};

/// What this rank meets in a broadcast_resized from rank 0 of so many elements, for which rank `lacking` has no room.
template <class C>
std::string resized_without_room(const C& comm, std::size_t count, std::size_t lacking) {
  const auto sent = contribution<double>(0, count, count);
  const auto mine = comm.rank() == 0 ? sent : std::vector<double>(3, 1.0);
  Confined container(mine, comm.rank() != lacking);
  try {
    comm.broadcast_resized(container, 0);
    return container.elements() == sent ? "what was sent" : "something else";
  } catch (const cobre::comm::AllocationFailed& error) {
    EXPECT_EQ(error.requested_bytes(), count * sizeof(double));
    EXPECT_EQ(error.operation(), "broadcast_resized");
    const std::string whom = comm.rank() == lacking ? "this rank" : "rank " + std::to_string(lacking);
    EXPECT_NE(std::string(error.what()).find(", which " + whom + " has no room for"), std::string::npos)
        << error.what();
    return "no room";
  }
}

/// The exact sum, rounded once, of what all ranks have; `of` gives the numbers of a rank.
template <class T, class Of>
T exact_sum(std::size_t size, const Of& of) {
  cobre::comm::detail::ExactSum exact;
  for (std::size_t rank = 0; rank < size; ++rank) {
    const std::vector<T> numbers = of(rank);
    exact.add(std::span<const T>(numbers));
  }
  return exact.template to<T>();
}

template <class C>
void composed_cases(Suite<C>& suite) {
  auto gather = suite.group("AllgathervInPlace");

  gather.add("LeavesTheOwnPartWhereItIs", [](const C& comm) {
    std::vector<std::size_t> counts;
    std::vector<std::size_t> displs;
    std::size_t next = 2;
    for (std::size_t rank = 0; rank < comm.size(); ++rank) {
      counts.push_back(rank % 3 == 1 ? 0 : 5 + rank);
      displs.push_back(next);
      next += counts.back() + rank % 2;
    }
    for (const std::size_t scale : {1U, 2000U}) {  // small and large messages
      auto scaled_counts = counts;
      auto scaled_displs = displs;
      for (auto& count : scaled_counts) count *= scale;
      for (auto& displ : scaled_displs) displ *= scale;
      std::vector<Seven> expected(next * scale, Make<Seven>::from(77));
      std::vector<Seven> buffer = expected;
      for (std::size_t rank = 0; rank < comm.size(); ++rank) {
        const auto part = contribution<Seven>(rank, scaled_counts[rank], scale);
        std::ranges::copy(part, expected.begin() + static_cast<std::ptrdiff_t>(scaled_displs[rank]));
        if (rank == comm.rank()) {
          std::ranges::copy(part, buffer.begin() + static_cast<std::ptrdiff_t>(scaled_displs[rank]));
        }
      }
      comm.allgatherv_inplace(buffer, scaled_counts, scaled_displs);
      EXPECT_EQ(buffer, expected);
    }
  });

  gather.add("RefusesABufferThatIsTooShort", [](const C& comm) {
    const std::vector<std::size_t> counts(comm.size(), 1);
    std::vector<std::size_t> displs(comm.size());
    for (std::size_t rank = 0; rank < comm.size(); ++rank) displs[rank] = rank;
    std::vector<int> buffer(comm.size() - 1);
    EXPECT_THROW(comm.allgatherv_inplace(buffer, counts, displs), cobre::comm::InvalidBufferSize);
    EXPECT_THROW(comm.allgatherv_inplace(buffer, std::vector<std::size_t>(), displs), cobre::comm::InvalidBufferSize);
  });

  auto resized = suite.group("BroadcastResized");

  resized.add("GivesEveryoneAStringWhoseLengthOnlyTheRootKnows", [](const C& comm) {
    for (std::size_t root = 0; root < comm.size(); ++root) {
      const std::string text(10 * root + 3, static_cast<char>('a' + root));
      std::string mine = comm.rank() == root ? text : "something else that is longer than it will be";
      comm.broadcast_resized(mine, root);
      EXPECT_EQ(mine, text);
    }
  });

  resized.add("GivesEveryoneAnEmptyVectorToo", [](const C& comm) {
    std::vector<Particle> particles(comm.rank() == comm.size() - 1 ? 0 : 4);
    comm.broadcast_resized(particles, comm.size() - 1);
    EXPECT_TRUE(particles.empty());
    particles = contribution<Particle>(comm.rank(), comm.rank() == 0 ? 10'000 : 1);
    comm.broadcast_resized(particles, 0);
    EXPECT_EQ(particles, contribution<Particle>(0, 10'000));
  });

  resized.add("RefusesARootOutsideTheCommunicator", [](const C& comm) {
    std::string text = "x";
    EXPECT_THROW(comm.broadcast_resized(text, comm.size()), cobre::comm::InvalidRoot);
    EXPECT_EQ(text, "x");
  });

  // The ranks agree before they send much. Of little, nobody waits for the one that has no room.
  resized.add("FailsOnAllRanksWhereOneHasNoRoomAndOnThatOneAloneWhereItIsLittle", [](const C& comm) {
    for (std::size_t lacking = 1; lacking < comm.size(); ++lacking) {
      for (const std::size_t count : {2049U, 60'000U}) {
        EXPECT_EQ(resized_without_room(comm, count, lacking), "no room");
      }
      for (const std::size_t count : {1U, 2048U}) {
        EXPECT_EQ(resized_without_room(comm, count, lacking), comm.rank() == lacking ? "no room" : "what was sent");
      }
    }
    // The root has its elements already.
    for (const std::size_t count : {2U, 3000U}) EXPECT_EQ(resized_without_room(comm, count, 0), "what was sent");
    EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size()));
  });

  auto agreement = suite.group("Agree");

  agreement.add("IsYesOnlyWhereAllSayYes", [](const C& comm) {
    EXPECT_TRUE(comm.agree(true));
    EXPECT_FALSE(comm.agree(false));
    for (std::size_t other = 0; other < comm.size(); ++other) EXPECT_FALSE(comm.agree(comm.rank() != other));
  });

  auto sum = suite.group("ReproducibleSum");

  sum.add("DoesNotDependOnHowTheNumbersAreSpread", [](const C& comm) {
    const auto all = contribution<double>(7, 5000);
    cobre::comm::detail::ExactSum exact;
    exact.add(std::span<const double>(all));
    for (const std::size_t slant : {0U, 1U, 3U, 4999U}) {
      EXPECT_TRUE(same(comm.reproducible_sum(share(all, comm.rank(), comm.size(), slant)), exact.to_double()));
    }
    const bool last = comm.rank() + 1 == comm.size();
    EXPECT_TRUE(same(comm.reproducible_sum(last ? all : std::vector<double>()), exact.to_double()));
  });

  sum.add("IsExactWhereEveryOrdinarySumLosesAllDigits", [](const C& comm) {
    // Each rank's own sum takes more numbers than are shown at first: 1, 1e-100, 1e-200 and 1e-300 of it remain.
    const std::vector<double> mine{1e300, 1.0, 1e-100, 1e-200, 1e-300, -1e300};
    const double size = static_cast<double>(comm.size());
    EXPECT_EQ(comm.reproducible_sum(mine), size);
    EXPECT_EQ(comm.reproducible_sum(std::vector<double>{1e300, 1.0, -1e300, 1e-300}), size);
    EXPECT_EQ(comm.reproducible_sum(std::vector<double>{0x1p1000, 0x1p-1000, -0x1p1000}), size * 0x1p-1000);
  });

  sum.add("IsExactWhereOneRankAloneHasMoreToShowThanTheOthers", [](const C& comm) {
    // That rank's sum takes more numbers than are shown at first, so all have to go on to accumulators, also those that
    // needed none for the few numbers that they have.
    for (std::size_t odd_one = 0; odd_one < comm.size(); ++odd_one) {
      const auto of = [&](std::size_t rank) {
        return rank == odd_one ? std::vector<double>{1e300, 1.0, 1e-100, 1e-200, 1e-300, -1e300}
                               : std::vector<double>{0.5, 0x1p-53};
      };
      EXPECT_TRUE(same(comm.reproducible_sum(of(comm.rank())), exact_sum<double>(comm.size(), of)));
    }
  });

  sum.add("OfOneValueOfEachRank", [](const C& comm) {
    const auto of = [](std::size_t rank) { return contribution<double>(rank, 1, 3); };
    EXPECT_TRUE(same(comm.reproducible_sum(of(comm.rank())[0]), exact_sum<double>(comm.size(), of)));
    EXPECT_EQ(comm.reproducible_sum(0.5F), 0.5F * static_cast<float>(comm.size()));
  });

  sum.add("OfFloatsIsRoundedOnce", [](const C& comm) {
    // A float cannot hold 2^-24 beside 1, and a double not 2^-80: by way of a double, what decides the tie would be
    // lost.
    const std::size_t last = comm.size() - 1;
    const auto expect_next = [&](std::vector<float> first, const std::vector<float>& of_last) {
      if (last == 0) first.insert(first.end(), of_last.begin(), of_last.end());
      const std::vector<float> nothing;
      const auto& mine = comm.rank() == 0 ? first : comm.rank() == last ? of_last : nothing;
      EXPECT_EQ(comm.reproducible_sum(mine), 1.0F + 0x1p-23F);
    };
    expect_next({1.0F}, {0x1p-24F, 0x1p-80F});
    expect_next({1.0F, 0x1p-24F}, {0x1p-80F, 0x1p-24F, -0x1p-24F, 0x1p-100F});
    // More than is shown at first, on the one rank and on the other.
    expect_next({0x1p120F, 0x1p60F, 1.0F, 0x1p-24F, 0x1p-80F}, {-0x1p120F, -0x1p60F});
    expect_next({1.0F, -0x1p60F}, {0x1p-80F, -0x1p120F, 0x1p-24F, 0x1p60F, 0x1p120F, 0x1p-140F});
    const auto of = [](std::size_t rank) { return contribution<float>(rank, 1000, 4); };
    EXPECT_TRUE(same(comm.reproducible_sum(of(comm.rank())), exact_sum<float>(comm.size(), of)));
  });

  sum.add("OfInfinitiesAndNaNsIsTheSameOnEveryRank", [](const C& comm) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const bool first = comm.rank() == 0;
    EXPECT_EQ(comm.reproducible_sum(first ? infinity : 1.0), infinity);
    EXPECT_EQ(comm.reproducible_sum(std::vector<double>(9, first ? -infinity : 1.0)), -infinity);
    EXPECT_TRUE(std::isnan(comm.reproducible_sum(std::vector<double>{first ? infinity : -infinity, -infinity})));
    EXPECT_TRUE(std::isnan(comm.reproducible_sum(first ? std::nan("") : 1.0)));
  });
}

}  // namespace conformance
