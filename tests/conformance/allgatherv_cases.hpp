#pragma once

#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

/// Segments of `counts`, laid out in `order` with `gap` elements before each.
inline std::vector<std::size_t> layout(const std::vector<std::size_t>& counts, const std::vector<std::size_t>& order,
                                       std::size_t gap) {
  std::vector<std::size_t> displs(counts.size());
  std::size_t next = 0;
  for (const std::size_t rank : order) {
    displs[rank] = next + gap;
    next = displs[rank] + counts[rank];
  }
  return displs;
}

inline std::vector<std::size_t> ascending(std::size_t size) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Runs one allgatherv over a buffer full of a mark and checks every element of it, segments and gaps.
template <class T, class C>
void check_allgatherv(const C& comm, const std::vector<std::size_t>& counts, const std::vector<std::size_t>& displs,
                      std::size_t slack, std::uint64_t salt) {
  std::size_t length = slack;
  for (std::size_t rank = 0; rank < comm.size(); ++rank) length = std::max(length, displs[rank] + counts[rank] + slack);
  const T mark = Make<T>::from(0xa5a5a5a5a5a5a5a5U);
  std::vector<T> received(length, mark);
  std::vector<T> expected(length, mark);
  for (std::size_t rank = 0; rank < comm.size(); ++rank) {
    const auto segment = contribution<T>(rank, counts[rank], salt);
    std::copy(segment.begin(), segment.end(), expected.begin() + static_cast<std::ptrdiff_t>(displs[rank]));
  }
  comm.allgatherv(contribution<T>(comm.rank(), counts[comm.rank()], salt), received, counts, displs);
  EXPECT_TRUE(all_same(received, expected));
}

template <class C, class Call>
void expect_buffer_error(const C& comm, std::size_t expected, std::size_t actual, Call&& call) {
  try {
    call();
    ADD_FAILURE() << "accepted; expected " << expected << ", actual " << actual;
  } catch (const cobre::comm::InvalidBufferSize& error) {
    EXPECT_EQ(error.expected(), expected) << error.what();
    EXPECT_EQ(error.actual(), actual) << error.what();
  }
  EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size())) << "the communicator must stay good";
}

template <class C>
void allgatherv_cases(Suite<C>& suite) {
  auto group = suite.group("Allgatherv");

  group.add("PlacesDifferentCountsAtTheirDisplacements", [](const C& comm) {
    std::vector<std::size_t> counts;
    for (std::size_t rank = 0; rank < comm.size(); ++rank) counts.push_back(3 + 2 * rank);
    check_allgatherv<double>(comm, counts, layout(counts, ascending(comm.size()), 0), 0, 1);
  });

  group.add("GathersOneElementOfEachRankInRankOrder", [](const C& comm) {
    const std::vector<std::size_t> counts(comm.size(), 1);
    std::vector<std::size_t> received(comm.size());
    comm.allgatherv(std::array{comm.rank()}, received, counts, ascending(comm.size()));
    EXPECT_EQ(received, ascending(comm.size()));
  });

  group.add("LeavesGapsBetweenSegmentsUntouched", [](const C& comm) {
    std::vector<std::size_t> counts;
    for (std::size_t rank = 0; rank < comm.size(); ++rank) counts.push_back(1 + rank % 3);
    check_allgatherv<double>(comm, counts, layout(counts, ascending(comm.size()), 5), 4, 2);
    check_allgatherv<Seven>(comm, counts, layout(counts, ascending(comm.size()), 1), 1, 3);
  });

  group.add("TakesDisplacementsInAnyOrder", [](const C& comm) {
    auto order = ascending(comm.size());
    std::reverse(order.begin(), order.end());
    std::vector<std::size_t> counts;
    for (std::size_t rank = 0; rank < comm.size(); ++rank) counts.push_back(2 + rank);
    check_allgatherv<double>(comm, counts, layout(counts, order, 0), 0, 4);
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(comm.size() / 2), order.end());
    check_allgatherv<std::int32_t>(comm, counts, layout(counts, order, 3), 2, 5);
  });

  group.add("TakesDisplacementsThatDifferBetweenRanks", [](const C& comm) {
    const std::vector<std::size_t> counts(comm.size(), 4);
    check_allgatherv<double>(comm, counts, layout(counts, ascending(comm.size()), comm.rank()), comm.rank(), 6);
  });

  group.add("TakesZeroCounts", [](const C& comm) {
    for (std::size_t empty = 0; empty < comm.size(); ++empty) {
      std::vector<std::size_t> counts(comm.size(), 3);
      counts[empty] = 0;
      check_allgatherv<double>(comm, counts, layout(counts, ascending(comm.size()), 1), 1, 7 + empty);
    }
    const std::vector<std::size_t> nothing(comm.size(), 0);
    check_allgatherv<double>(comm, nothing, nothing, 2, 20);
    std::vector<double> empty_buffer;
    comm.allgatherv(empty_buffer, std::span<double>(), nothing, nothing);
  });

  group.add("KeepsEveryElementOfLongMessages", [](const C& comm) {
    const std::vector<std::size_t> counts(comm.size(), 100'000);
    check_allgatherv<double>(comm, counts, layout(counts, ascending(comm.size()), 0), 0, 30);
    std::vector<std::size_t> lopsided(comm.size(), 1);
    lopsided.back() = 500'001;
    check_allgatherv<double>(comm, lopsided, layout(lopsided, ascending(comm.size()), 3), 0, 31);
  });

  group.add("TakesAwkwardSizesOfOddElements", [](const C& comm) {
    for (const std::size_t count : awkward_sizes) {
      std::vector<std::size_t> counts(comm.size(), count);
      counts[0] += 1;
      check_allgatherv<Seven>(comm, counts, layout(counts, ascending(comm.size()), 0), 0, count);
    }
  });

  group.add("MovesEveryElementType", [](const C& comm) {
    const std::vector<std::size_t> counts(comm.size(), 3);
    const auto check = [&]<class T>() {
      check_allgatherv<T>(comm, counts, layout(counts, ascending(comm.size()), 1), 0, 40);
    };
    for_each_reducible_over<C>(check);
    for_each_type<Seven, Particle>(check);
  });

  group.add("WorksOutTheCountsItself", [](const C& comm) {
    const auto gathered = comm.allgatherv(contribution<double>(comm.rank(), 2 * comm.rank(), 50));
    std::vector<double> expected;
    for (std::size_t rank = 0; rank < comm.size(); ++rank) {
      EXPECT_EQ(gathered.counts[rank], 2 * rank);
      EXPECT_EQ(gathered.displs[rank], expected.size());
      const auto piece = contribution<double>(rank, 2 * rank, 50);
      expected.insert(expected.end(), piece.begin(), piece.end());
    }
    EXPECT_TRUE(all_same(gathered.values, expected));
  });

  group.add("RefusesCountsOrDisplacementsOfTheWrongLength", [](const C& comm) {
    const std::size_t size = comm.size();
    const std::vector<std::size_t> right(size, 1);
    const std::vector<std::size_t> longer(size + 1, 1);
    std::vector<double> recv(size + 1);
    const std::vector<double> send(1);
    expect_buffer_error(comm, size, size + 1, [&] { comm.allgatherv(send, recv, longer, ascending(size)); });
    expect_buffer_error(comm, size, size + 1, [&] { comm.allgatherv(send, recv, right, ascending(size + 1)); });
  });

  group.add("RefusesASendBufferThatIsNotAsLongAsItsCount", [](const C& comm) {
    const std::vector<std::size_t> counts(comm.size(), 2);
    std::vector<double> recv(2 * comm.size());
    expect_buffer_error(comm, 2, 3, [&] {
      comm.allgatherv(std::vector<double>(3), recv, counts, layout(counts, ascending(comm.size()), 0));
    });
  });

  group.add("RefusesAReceiveBufferThatEndsBeforeAnySegment", [](const C& comm) {
    // The first rank's segment lies last, so a look at the last rank alone would not find it.
    const std::vector<std::size_t> counts(comm.size(), 3);
    auto order = ascending(comm.size());
    std::reverse(order.begin(), order.end());
    const auto displs = layout(counts, order, 2);
    const std::size_t needed = displs[0] + 3;
    std::vector<double> recv(needed - 1);
    expect_buffer_error(comm, needed, needed - 1,
                        [&] { comm.allgatherv(std::vector<double>(3), recv, counts, displs); });
  });

  group.add("RefusesDisplacementsThatOverflow", [](const C& comm) {
    const std::vector<std::size_t> counts(comm.size(), 2);
    auto displs = layout(counts, ascending(comm.size()), 0);
    displs.back() = std::numeric_limits<std::size_t>::max();
    std::vector<double> recv(2 * comm.size());
    expect_buffer_error(comm, std::numeric_limits<std::size_t>::max(), recv.size(),
                        [&] { comm.allgatherv(std::vector<double>(2), recv, counts, displs); });
  });

  group.add("RefusesSegmentsThatShareElements", [](const C& comm) {
    if (comm.size() == 1) return;  // one segment cannot meet another
    const std::vector<std::size_t> counts(comm.size(), 2);
    auto displs = layout(counts, ascending(comm.size()), 0);
    displs.back() = displs[comm.size() - 2] + 1;
    std::vector<double> recv(2 * comm.size());
    // Where the one ends, and where the other begins.
    const std::size_t end = 2 * (comm.size() - 1);
    const std::vector<double> send(2);
    expect_buffer_error(comm, end, end - 1, [&] { comm.allgatherv(send, recv, counts, displs); });
    std::reverse(displs.begin(), displs.end());
    expect_buffer_error(comm, end, end - 1, [&] { comm.allgatherv(send, recv, counts, displs); });
  });

  group.add("RefusesASendBufferInsideTheReceiveBuffer", [](const C& comm) {
    const std::vector<std::size_t> counts(comm.size(), 2);
    std::vector<double> recv(2 * comm.size());
    expect_buffer_error(comm, 0, 2, [&] {
      comm.allgatherv(std::span(recv).first(2), recv, counts, layout(counts, ascending(comm.size()), 0));
    });
  });
}

}  // namespace conformance
