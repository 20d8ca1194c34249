// Reduce, scan, exscan and reduce_scatter_block: the canonical bits, over the ranks that count for each.
#pragma once

#include <array>
#include <type_traits>

#include "conformance/allreduce_cases.hpp"
#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

enum class Reducing { Reduce, Scan, Exscan, ReduceScatterBlock };
inline constexpr std::array every_reducing{Reducing::Reduce, Reducing::Scan, Reducing::Exscan,
                                           Reducing::ReduceScatterBlock};

/// One of the four, against what an allreduce over as many ranks must give.
template <class T, class C>
void check_reduction(const C& comm, Reducing which, ReduceOp op, std::size_t count, std::size_t root,
                     std::uint64_t salt, Reproducible how = Reproducible::Yes) {
  const std::size_t size = comm.size();
  const std::size_t rank = comm.rank();
  const auto what = [&](const char* name) {
    return std::string(name) + " with " + to_string(op) + " of " + std::to_string(count) + " " +
           to_string(cobre::comm::element_type_v<T>);
  };
  const auto send = contribution<T>(rank, count, salt);
  const T mark = Make<T>::from(0x5a5a5a5a5a5a5a5aU);
  std::vector<T> recv(count, mark);
  switch (which) {
    case Reducing::Reduce: {
      comm.reduce(send, rank == root ? std::span(recv) : std::span<T>(), op, root, how);
      const auto untouched = std::vector<T>(count, mark);
      EXPECT_TRUE(all_same(recv, rank == root ? expected_reduction<T>(op, size, count, salt) : untouched))
          << what("reduce");
      break;
    }
    case Reducing::Scan:
      comm.scan(send, recv, op, how);
      EXPECT_TRUE(all_same(recv, expected_reduction<T>(op, rank + 1, count, salt))) << what("scan");
      break;
    case Reducing::Exscan: {
      comm.exscan(send, recv, op, how);
      const auto untouched = std::vector<T>(count, mark);
      EXPECT_TRUE(all_same(recv, rank == 0 ? untouched : expected_reduction<T>(op, rank, count, salt)))
          << what("exscan");
      break;
    }
    case Reducing::ReduceScatterBlock: {
      comm.reduce_scatter_block(contribution<T>(rank, count * size, salt), recv, op, how);
      const auto whole = expected_reduction<T>(op, size, count * size, salt);
      EXPECT_TRUE(all_same(recv, std::span(whole).subspan(rank * count, count))) << what("reduce_scatter_block");
      break;
    }
  }
  EXPECT_TRUE(all_same(send, contribution<T>(rank, count, salt))) << "the send buffer was changed";
}

template <class T, class C>
void check_reductions(const C& comm, ReduceOp op, std::size_t count, std::size_t root, std::uint64_t salt) {
  for (const Reducing which : every_reducing) check_reduction<T>(comm, which, op, count, root, salt);
}

/// Whether every library and every order give the same. Integers do, but that sums of 8 and 16 bits do not wrap in Open
/// MPI where the processor has AVX: see docs/ferrompi.md.
template <class T>
bool is_the_same_everywhere(ReduceOp op) {
  if (op != ReduceOp::Sum && op != ReduceOp::Prod) return true;
  return (std::is_integral_v<T> || std::is_enum_v<T>)&&(op == ReduceOp::Prod || sizeof(T) > 2);
}

template <class C>
void reducing_cases(Suite<C>& suite) {
  auto group = suite.group("Reductions");

  group.add("AddElementByElement", [](const C& comm) {
    const std::size_t rank = comm.rank();
    const std::size_t size = comm.size();
    for (std::size_t root = 0; root < size; ++root) {
      EXPECT_EQ(comm.reduce(rank + 1, ReduceOp::Sum, root), rank == root ? size * (size + 1) / 2 : rank + 1);
    }
    EXPECT_EQ(comm.scan(rank + 1, ReduceOp::Sum), (rank + 1) * (rank + 2) / 2);
    EXPECT_EQ(comm.exscan(rank + 1, ReduceOp::Sum), rank * (rank + 1) / 2);
    std::vector<std::size_t> own(1);
    comm.reduce_scatter_block(ascending(size), own, ReduceOp::Sum);
    EXPECT_EQ(own[0], rank * size);
  });

  group.add("GiveTheCanonicalBitsForEveryOperationAndType", [](const C& comm) {
    for_each_reducible_over<C>([&]<class T>() {
      for (const ReduceOp op : all_ops) {
        if (is_defined(op, cobre::comm::element_type_v<T>)) check_reductions<T>(comm, op, 5, comm.size() - 1, 100);
      }
    });
  });

  // By default MPI combines as it likes, with operations and types of its own. The others do not know the difference.
  group.add("GiveTheSameByDefaultForEveryOperationAndTypeThatIsExact", [](const C& comm) {
    if (!comm.topology().mpi) return;
    for_each_reducible_over<C>([&]<class T>() {
      for (const ReduceOp op : all_ops) {
        if (!is_defined(op, cobre::comm::element_type_v<T>) || !is_the_same_everywhere<T>(op)) continue;
        for (const Reducing which : every_reducing) {
          check_reduction<T>(comm, which, op, 5, 0, 101, Reproducible::Default);
        }
        check_allreduce<T>(comm, op, 5, 102, Reproducible::Default);
      }
    });
  });

  group.add("GiveTheCanonicalBitsForAwkwardSizesAndAnyRoot", [](const C& comm) {
    for (const std::size_t count : awkward_sizes) {
      if (count < 5000) check_reductions<double>(comm, ReduceOp::Sum, count, count % comm.size(), count);
    }
    check_reductions<float>(comm, ReduceOp::Sum, 30'011, comm.size() / 2, 5);
    for (std::size_t root = 0; root < comm.size(); ++root) check_reductions<double>(comm, ReduceOp::Prod, 33, root, 6);
  });

  group.add("OfNothingAreLegal", [](const C& comm) {
    check_reductions<double>(comm, ReduceOp::Sum, 0, comm.size() - 1, 1);
    EXPECT_EQ(comm.allreduce(2, ReduceOp::Sum), static_cast<int>(2 * comm.size()));
  });

  group.add("CombineWithACallableInRankOrder", [](const C& comm) {
    const std::size_t rank = comm.rank();
    const auto of_first = [&](std::size_t ranks, std::size_t count) {
      std::vector<Affine> expected = contribution<Affine>(0, count, count);
      for (std::size_t other = 1; other < ranks; ++other) {
        const auto next = contribution<Affine>(other, count, count);
        for (std::size_t i = 0; i < count; ++i) expected[i] = after(expected[i], next[i]);
      }
      return expected;
    };
    for (const std::size_t per_rank : {1U, 9U, 3000U}) {
      const std::size_t count = per_rank * comm.size();
      const auto send = contribution<Affine>(rank, count, count);
      std::vector<Affine> recv(count);
      comm.scan(send, recv, after);
      EXPECT_TRUE(all_same(recv, of_first(rank + 1, count)));
      if (rank > 0) {
        std::vector<Affine> before(count);
        comm.exscan(send, before, after);
        EXPECT_TRUE(all_same(before, of_first(rank, count)));
      } else {
        comm.exscan(send, recv, after);
      }
      const auto all = of_first(comm.size(), count);
      comm.reduce(send, recv, after, comm.size() - 1);
      if (rank == comm.size() - 1) {
        EXPECT_TRUE(all_same(recv, all));
      }
      std::vector<Affine> block(per_rank);
      comm.reduce_scatter_block(send, block, after);
      EXPECT_TRUE(all_same(block, std::span(all).subspan(rank * per_rank, per_rank)));
    }
  });

  group.add("GiveTheSameByDefaultWhereNothingIsRounded", [](const C& comm) {
    std::vector<int> ones(3, 1);
    std::vector<int> recv(3);
    comm.scan(ones, recv, ReduceOp::Sum);
    EXPECT_EQ(recv, std::vector<int>(3, static_cast<int>(comm.rank() + 1)));
    comm.reduce(ones, recv, ReduceOp::Max, 0);
    if (comm.rank() == 0) {
      EXPECT_EQ(recv, ones);
    }
    std::vector<int> blocks(3 * comm.size(), 2);
    comm.reduce_scatter_block(blocks, recv, ReduceOp::Sum);
    EXPECT_EQ(recv, std::vector<int>(3, static_cast<int>(2 * comm.size())));
  });

  group.add("RefuseWhatDoesNotFit", [](const C& comm) {
    std::vector<double> three(3);
    std::vector<double> four(4);
    std::vector<double> blocks(3 * comm.size() + 1);
    expect_buffer_error(comm, 4, 3, [&] { comm.scan(four, three, ReduceOp::Sum); });
    expect_buffer_error(comm, 4, 3, [&] { comm.exscan(four, three, ReduceOp::Sum); });
    expect_buffer_error(comm, 4, 3, [&] { comm.reduce(four, three, ReduceOp::Sum, comm.rank()); });
    expect_buffer_error(comm, 3 * comm.size(), blocks.size(),
                        [&] { comm.reduce_scatter_block(blocks, three, ReduceOp::Sum); });
    expect_buffer_error(comm, 0, 3, [&] { comm.scan(three, three, ReduceOp::Sum); });
    EXPECT_THROW((void)comm.reduce(1, ReduceOp::Sum, comm.size()), cobre::comm::InvalidRoot);
    EXPECT_THROW((void)comm.scan(1.0, ReduceOp::BitwiseOr), cobre::comm::InvalidOperation);
    EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size()));
  });
}

}  // namespace conformance
