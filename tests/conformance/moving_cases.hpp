// Gather, scatter and alltoall, with equal parts and with parts of any length.
#pragma once

#include "conformance/allgatherv_cases.hpp"
#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

/// What `from` has for `to` in operation `salt`.
template <class T>
std::vector<T> part(std::size_t from, std::size_t to, std::size_t count, std::uint64_t salt) {
  return contribution<T>(1000 * from + to, count, salt);
}

/// `count_of(rank)` elements of each rank, joined in the order of the ranks.
template <class T, class CountOf, class PartOf>
std::vector<T> joined_parts(std::size_t size, const CountOf& count_of, const PartOf& part_of) {
  std::vector<T> all;
  for (std::size_t rank = 0; rank < size; ++rank) {
    const std::vector<T> one = part_of(rank, count_of(rank));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

template <class T, class C>
void check_equal_parts(const C& comm, std::size_t count, std::size_t root, std::uint64_t salt) {
  const std::size_t size = comm.size();
  const std::size_t rank = comm.rank();
  const auto equal = [&](std::size_t) { return count; };
  const auto of_rank = [&](std::size_t r, std::size_t n) { return contribution<T>(r, n, salt); };
  const auto from_root = [&](std::size_t r, std::size_t n) { return part<T>(root, r, n, salt); };
  const auto for_others = [&](std::size_t r, std::size_t n) { return part<T>(rank, r, n, salt); };
  const auto for_me = [&](std::size_t r, std::size_t n) { return part<T>(r, rank, n, salt); };
  const auto mine = contribution<T>(rank, count, salt);

  std::vector<T> gathered(rank == root ? count * size : 0);
  comm.gather(mine, gathered, root);
  if (rank == root) {
    EXPECT_TRUE(all_same(gathered, joined_parts<T>(size, equal, of_rank))) << "gather to " << root << " of " << count;
  }
  std::vector<T> everywhere(count * size);
  comm.allgather(mine, everywhere);
  EXPECT_TRUE(all_same(everywhere, joined_parts<T>(size, equal, of_rank))) << "allgather of " << count;

  std::vector<T> given(count);
  comm.scatter(rank == root ? joined_parts<T>(size, equal, from_root) : std::vector<T>(), given, root);
  EXPECT_TRUE(all_same(given, part<T>(root, rank, count, salt))) << "scatter from " << root << " of " << count;

  std::vector<T> exchanged(count * size);
  comm.alltoall(joined_parts<T>(size, equal, for_others), exchanged);
  EXPECT_TRUE(all_same(exchanged, joined_parts<T>(size, equal, for_me))) << "alltoall of " << count;
}

/// Parts of `count_of(from, to)` elements with `gap` elements between them, where the receiver likes them in reverse.
template <class T, class C, class CountOf>
void check_parts_of_any_length(const C& comm, const CountOf& count_of, std::size_t root, std::size_t gap,
                               std::uint64_t salt) {
  const std::size_t size = comm.size();
  const std::size_t rank = comm.rank();
  const T mark = Make<T>::from(0xa5a5a5a5a5a5a5a5U);
  auto backwards = ascending(size);
  std::reverse(backwards.begin(), backwards.end());
  std::vector<std::size_t> out_counts;
  std::vector<std::size_t> in_counts;
  for (std::size_t r = 0; r < size; ++r) {
    out_counts.push_back(count_of(rank, r));
    in_counts.push_back(count_of(r, rank));
  }
  const auto out_displs = layout(out_counts, ascending(size), gap);
  const auto in_displs = layout(in_counts, backwards, gap);
  const auto length_of = [&](const auto& counts, const auto& displs) {
    std::size_t length = gap;
    for (std::size_t r = 0; r < size; ++r) length = std::max(length, displs[r] + counts[r] + gap);
    return length;
  };
  const auto place = [](std::vector<T>& buffer, const std::vector<T>& values, std::size_t displ) {
    std::copy(values.begin(), values.end(), buffer.begin() + static_cast<std::ptrdiff_t>(displ));
  };
  std::vector<T> outgoing(length_of(out_counts, out_displs), mark);
  std::vector<T> expected(length_of(in_counts, in_displs), mark);
  for (std::size_t r = 0; r < size; ++r) {
    place(outgoing, part<T>(rank, r, out_counts[r], salt), out_displs[r]);
    place(expected, part<T>(r, rank, in_counts[r], salt), in_displs[r]);
  }
  const std::vector<std::size_t> none;

  std::vector<T> received(expected.size(), mark);
  comm.alltoallv(outgoing, out_counts, out_displs, received, in_counts, in_displs);
  EXPECT_TRUE(all_same(received, expected)) << "alltoallv";

  std::vector<T> gathered(rank == root ? expected.size() : 0, mark);
  const bool at_root = rank == root;
  comm.gatherv(part<T>(rank, root, count_of(rank, root), salt), gathered, at_root ? in_counts : none,
               at_root ? in_displs : none, root);
  if (at_root) {
    EXPECT_TRUE(all_same(gathered, expected)) << "gatherv to " << root;
  }

  std::vector<T> given(count_of(root, rank), mark);
  comm.scatterv(at_root ? outgoing : std::vector<T>(), at_root ? out_counts : none, at_root ? out_displs : none, given,
                root);
  EXPECT_TRUE(all_same(given, part<T>(root, rank, count_of(root, rank), salt))) << "scatterv from " << root;
}

template <class C>
void moving_cases(Suite<C>& suite) {
  auto equal = suite.group("EqualParts");

  equal.add("ArriveInTheOrderOfTheRanksWhoeverIsTheRoot", [](const C& comm) {
    for (std::size_t root = 0; root < comm.size(); ++root) {
      for (const std::size_t count : {1U, 2U, 9U, 700U}) check_equal_parts<double>(comm, count, root, root + count);
    }
  });

  equal.add("ArriveWhateverTheirSizeAndType", [](const C& comm) {
    for (const std::size_t count : awkward_sizes) check_equal_parts<Seven>(comm, count, count % comm.size(), count);
    // That every type is moved is seen with broadcast and allgatherv.
    for_each_kind([&]<class T>() { check_equal_parts<T>(comm, 3, comm.size() - 1, 7); });
    check_equal_parts<Particle>(comm, 5, 0, 8);
  });

  equal.add("KeepEveryElementOfLongMessages", [](const C& comm) {
    check_equal_parts<double>(comm, 20'001, comm.size() - 1, 5);
    check_equal_parts<std::uint8_t>(comm, 300'007, 0, 6);
  });

  equal.add("MayBeOfNothing", [](const C& comm) {
    for (std::size_t root = 0; root < comm.size(); ++root) check_equal_parts<double>(comm, 0, root, 1);
    EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size()));
  });

  equal.add("OfOneValueComeBackAsAVector", [](const C& comm) {
    for (std::size_t root = 0; root < comm.size(); ++root) {
      const auto values = comm.gather(10 * comm.rank() + root, root);
      ASSERT_EQ(values.size(), comm.rank() == root ? comm.size() : 0);
      for (std::size_t rank = 0; rank < values.size(); ++rank) EXPECT_EQ(values[rank], 10 * rank + root);
    }
    EXPECT_EQ(comm.allgather(comm.rank()), ascending(comm.size()));
  });

  equal.add("StreamToARootThatIsSlowerThanTheOthers", [](const C& comm) {
    for (int i = 0; i < 200; ++i) {
      const auto values = comm.gather(i, 0);
      for (const int value : values) EXPECT_EQ(value, i);
      std::vector<int> given(1);
      comm.scatter(std::vector<int>(comm.rank() == 0 ? comm.size() : 0, i), given, 0);
      EXPECT_EQ(given[0], i);
    }
  });

  equal.add("RefuseARootOutsideTheCommunicator", [](const C& comm) {
    std::vector<double> one(1);
    std::vector<double> all(comm.size());
    EXPECT_THROW(comm.gather(one, all, comm.size()), cobre::comm::InvalidRoot);
    EXPECT_THROW((void)comm.gather(1.0, comm.size()), cobre::comm::InvalidRoot);
    EXPECT_THROW(comm.scatter(all, one, comm.size()), cobre::comm::InvalidRoot);
    EXPECT_THROW((void)comm.gatherv(one, comm.size()), cobre::comm::InvalidRoot);
    EXPECT_THROW((void)comm.scatterv(one, std::vector<std::size_t>(), comm.size()), cobre::comm::InvalidRoot);
    EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size()));
  });

  equal.add("RefuseBuffersThatDoNotHoldOneBlockARank", [](const C& comm) {
    const std::size_t size = comm.size();
    const std::size_t rank = comm.rank();
    std::vector<double> block(2);
    std::vector<double> wrong(2 * size + 1);
    expect_buffer_error(comm, 2 * size, 2 * size + 1, [&] { comm.gather(block, wrong, rank); });
    expect_buffer_error(comm, 2 * size, 2 * size + 1, [&] { comm.allgather(block, wrong); });
    expect_buffer_error(comm, 2 * size, 2 * size + 1, [&] { comm.scatter(wrong, block, rank); });
    std::vector<double> other(wrong.size());
    if (size > 1) expect_buffer_error(comm, 3 * size, 2 * size + 1, [&] { comm.alltoall(wrong, other); });
    expect_buffer_error(comm, wrong.size(), 2, [&] { comm.alltoall(wrong, block); });
  });

  equal.add("RefuseOverlappingBuffers", [](const C& comm) {
    std::vector<double> all(comm.size());
    const auto own = std::span(all).subspan(comm.rank(), 1);
    expect_buffer_error(comm, 0, 1, [&] { comm.gather(own, all, comm.rank()); });
    expect_buffer_error(comm, 0, 1, [&] { comm.allgather(own, all); });
    expect_buffer_error(comm, 0, 1, [&] { comm.scatter(all, own, comm.rank()); });
    expect_buffer_error(comm, 0, comm.size(), [&] { comm.alltoall(all, all); });
  });

  auto any = suite.group("PartsOfAnyLength");

  any.add("ArriveAtTheirDisplacementsAndLeaveGapsAlone", [](const C& comm) {
    const auto count_of = [](std::size_t from, std::size_t to) { return 1 + (3 * from + 5 * to) % 7; };
    for (std::size_t root = 0; root < comm.size(); ++root) {
      check_parts_of_any_length<double>(comm, count_of, root, 0, root);
      check_parts_of_any_length<Seven>(comm, count_of, root, 3, root);
    }
  });

  any.add("MayBeOfNothingForSome", [](const C& comm) {
    const auto some = [](std::size_t from, std::size_t to) { return (from + to) % 2 * (1 + from); };
    const auto none = [](std::size_t, std::size_t) { return std::size_t{0}; };
    for (std::size_t root = 0; root < comm.size(); ++root) {
      check_parts_of_any_length<std::int32_t>(comm, some, root, 1, root);
      check_parts_of_any_length<std::int32_t>(comm, none, root, 1, root);
    }
  });

  any.add("MayBeLongForSomeAndShortForOthers", [](const C& comm) {
    const auto count_of = [](std::size_t from, std::size_t to) {
      return from == to ? std::size_t{3} : (from + 2 * to) % 3 == 0 ? std::size_t{60'001} : 1 + from;
    };
    check_parts_of_any_length<double>(comm, count_of, comm.size() - 1, 2, 3);
    check_parts_of_any_length<double>(
        comm, [](std::size_t from, std::size_t) { return from == 0 ? std::size_t{90'000} : std::size_t{1}; }, 0, 0, 4);
  });

  any.add("MayHaveLengthsThatNobodyKnows", [](const C& comm) {
    const std::size_t size = comm.size();
    const std::size_t rank = comm.rank();
    for (std::size_t root = 0; root < size; ++root) {
      const auto gathered = comm.gatherv(contribution<double>(rank, 2 * rank, 9), root);
      const auto expected = joined_parts<double>(
          size, [](std::size_t r) { return 2 * r; },
          [](std::size_t r, std::size_t n) { return contribution<double>(r, n, 9); });
      EXPECT_TRUE(all_same(gathered.values, rank == root ? expected : std::vector<double>()));
      EXPECT_EQ(gathered.counts.size(), rank == root ? size : 0);

      std::vector<std::size_t> counts(rank == root ? size : 0);
      for (std::size_t r = 0; r < counts.size(); ++r) counts[r] = 2 * r;
      const auto mine = comm.scatterv(rank == root ? expected : std::vector<double>(), counts, root);
      EXPECT_TRUE(all_same(mine, contribution<double>(rank, 2 * rank, 9)));
    }
    std::vector<std::size_t> counts;
    for (std::size_t to = 0; to < size; ++to) counts.push_back((rank + 2 * to) % 4);
    const auto count_of = [&](std::size_t to) { return counts[to]; };
    const auto exchanged = comm.alltoallv(
        joined_parts<Seven>(size, count_of, [&](std::size_t to, std::size_t n) { return part<Seven>(rank, to, n, 2); }),
        counts);
    EXPECT_TRUE(all_same(exchanged.values,
                         joined_parts<Seven>(
                             size, [&](std::size_t from) { return (from + 2 * rank) % 4; },
                             [&](std::size_t from, std::size_t n) { return part<Seven>(from, rank, n, 2); })));
    for (std::size_t from = 0; from < size; ++from) EXPECT_EQ(exchanged.counts[from], (from + 2 * rank) % 4);
  });

  any.add("RefuseLayoutsThatDoNotFit", [](const C& comm) {
    const std::size_t size = comm.size();
    const std::size_t rank = comm.rank();
    const std::vector<std::size_t> twos(size, 2);
    const auto displs = layout(twos, ascending(size), 0);
    std::vector<double> own(2);
    std::vector<double> all(2 * size);
    std::vector<double> other(2 * size);
    std::vector<double> shorter(2 * size - 1);
    const std::vector<std::size_t> longer(size + 1, 2);
    expect_buffer_error(comm, 2 * size, 2 * size - 1, [&] { comm.gatherv(own, shorter, twos, displs, rank); });
    expect_buffer_error(comm, size, size + 1, [&] { comm.gatherv(own, all, longer, displs, rank); });
    expect_buffer_error(comm, 2, 3, [&] { comm.gatherv(std::vector<double>(3), all, twos, displs, rank); });
    expect_buffer_error(comm, 2 * size, 2 * size - 1, [&] { comm.scatterv(shorter, twos, displs, own, rank); });
    expect_buffer_error(comm, 2 * size, 2 * size - 1, [&] { (void)comm.scatterv(shorter, twos, rank); });
    expect_buffer_error(comm, 2 * size, 2 * size - 1,
                        [&] { comm.alltoallv(all, twos, displs, shorter, twos, displs); });
    expect_buffer_error(comm, 2 * size, 2 * size - 1, [&] { (void)comm.alltoallv(shorter, twos); });
    auto ones = twos;
    ones[rank] = 1;
    expect_buffer_error(comm, 2, 1, [&] { comm.alltoallv(all, twos, displs, other, ones, displs); });
    if (size > 1) {
      const std::vector<std::size_t> same_place(size, 0);
      expect_buffer_error(comm, 2, 0, [&] { comm.gatherv(own, all, twos, same_place, rank); });
      expect_buffer_error(comm, 2, 0, [&] { comm.alltoallv(all, twos, displs, other, twos, same_place); });
    }
    // What is only read may be read twice.
    const std::vector<std::size_t> same_place(size, 0);
    std::vector<double> given(2);
    comm.scatterv(rank == 0 ? std::vector<double>{3, 4} : std::vector<double>(), twos, same_place, given, 0);
    EXPECT_EQ(given, (std::vector<double>{3, 4}));
  });
}

}  // namespace conformance
