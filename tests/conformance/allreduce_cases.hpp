#pragma once

#include "conformance/allgatherv_cases.hpp"
#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

using cobre::comm::Reproducible;

// x -> scale * x + shift: composition is associative and does not commute.
struct Affine {
  std::uint64_t scale;
  std::uint64_t shift;
  friend bool operator==(const Affine&, const Affine&) = default;
};

template <>
struct Make<Affine> {
  static Affine from(std::uint64_t bits) { return {bits | 1, bits >> 7}; }
};

inline Affine after(const Affine& first, const Affine& second) {
  return {first.scale * second.scale, first.shift * second.scale + second.shift};
}

/// Bitwise equal to the oracle on this rank; with the oracle the same everywhere, so are the ranks.
template <class T, class C>
void check_allreduce(const C& comm, ReduceOp op, std::size_t count, std::uint64_t salt,
                     Reproducible how = Reproducible::Yes) {
  const auto send = contribution<T>(comm.rank(), count, salt);
  std::vector<T> recv(count);
  comm.allreduce(send, recv, op, how);
  EXPECT_TRUE(all_same(recv, expected_reduction<T>(op, comm.size(), count, salt)))
      << to_string(op) << " of " << count << " " << to_string(cobre::comm::element_type_v<T>);
}

/// An allreduce whose callable throws on these ranks. Whoever learns of that, by what was thrown or by an error, has a
/// communicator that is broken. Tells whether this rank got what was thrown.
template <class C>
bool expect_failure_by_callable(const C& comm, std::size_t count, bool (*throws_on)(std::size_t rank)) {
  struct Unhappy : std::runtime_error {
    using runtime_error::runtime_error;
  };
  const bool throws = throws_on(comm.rank());
  bool threw = false;
  bool failed = false;
  try {
    comm.barrier();  // everyone is there before somebody fails
    std::vector<double> buffer(count, 1.0);
    comm.allreduce_inplace(buffer, [throws](double a, double b) -> double {
      if (throws) throw Unhappy("no");
      return a + b;
    });
  } catch (const Unhappy&) {
    threw = true;
  } catch (const cobre::comm::CommError&) {
    failed = true;  // a rank that combined nothing yet may learn of the failure from the others, in the barrier too
  }
  EXPECT_FALSE(threw && !throws) << "what another rank threw";
  if (comm.size() == 1) {
    EXPECT_FALSE(threw || failed) << "one rank has nothing to combine";
  } else if (comm.rank() == 0) {
    EXPECT_TRUE(threw || failed) << "rank 0 has a part in every result";
  }
  if (threw || failed) {
    EXPECT_THROW(comm.barrier(), cobre::comm::InvalidCommunicator);
    EXPECT_THROW((void)comm.allreduce(1, ReduceOp::Sum), cobre::comm::InvalidCommunicator);
  }
  return threw;
}

template <class C>
void allreduce_cases(Suite<C>& suite) {
  auto group = suite.group("Allreduce");

  group.add("AddsElementByElement", [](const C& comm) {
    const auto size = static_cast<double>(comm.size());
    std::vector<double> recv(4);
    comm.allreduce(std::vector<double>{1, 2, 3, 4}, recv, ReduceOp::Sum);
    EXPECT_EQ(recv, (std::vector{size, 2 * size, 3 * size, 4 * size}));
    EXPECT_EQ(comm.allreduce(comm.rank(), ReduceOp::Sum), comm.size() * (comm.size() - 1) / 2);
  });

  group.add("FindsMinimumAndMaximum", [](const C& comm) {
    const auto rank = static_cast<double>(comm.rank());
    const auto last = static_cast<double>(comm.size() - 1);
    std::vector<double> recv(2);
    comm.allreduce(std::vector{rank, last + 1 - rank}, recv, ReduceOp::Min);
    EXPECT_EQ(recv, (std::vector{0.0, 1.0}));
    comm.allreduce(std::vector{rank, last - rank}, recv, ReduceOp::Max);
    EXPECT_EQ(recv, (std::vector{last, last}));
  });

  group.add("GivesTheCanonicalBitsForEveryOperationAndType", [](const C& comm) {
    for_each_reducible_over<C>([&]<class T>() {
      for (const ReduceOp op : all_ops) {
        if (is_defined(op, cobre::comm::element_type_v<T>)) check_allreduce<T>(comm, op, 17, 100);
      }
    });
  });

  group.add("WorksOnBool", [](const C& comm) {
    const std::array<bool, 3> send{comm.rank() == 0, true, comm.rank() % 2 == 1};
    const bool odd_ranks_are_odd = (comm.size() / 2) % 2 == 1;
    std::array<bool, 3> recv{};
    for (const ReduceOp op : {ReduceOp::LogicalAnd, ReduceOp::BitwiseAnd, ReduceOp::Min}) {
      comm.allreduce(send, recv, op);
      EXPECT_EQ(recv, (std::array{comm.size() == 1, true, false}));
    }
    for (const ReduceOp op : {ReduceOp::LogicalOr, ReduceOp::BitwiseOr, ReduceOp::Max}) {
      comm.allreduce(send, recv, op);
      EXPECT_EQ(recv, (std::array{true, true, comm.size() > 1}));
    }
    for (const ReduceOp op : {ReduceOp::LogicalXor, ReduceOp::BitwiseXor}) {
      comm.allreduce(send, recv, op);
      EXPECT_EQ(recv, (std::array{true, comm.size() % 2 == 1, odd_ranks_are_odd}));
    }
  });

  group.add("GivesTheCanonicalBitsForAwkwardSizes", [](const C& comm) {
    for (const std::size_t count : awkward_sizes) check_allreduce<double>(comm, ReduceOp::Sum, count, count);
    for (const std::size_t count : awkward_sizes) check_allreduce<std::uint8_t>(comm, ReduceOp::Sum, count, count);
    check_allreduce<float>(comm, ReduceOp::Sum, 100'003, 5);
    check_allreduce<double>(comm, ReduceOp::Prod, 250'007, 6);
  });

  group.add("DoesTheSameInPlace", [](const C& comm) {
    for (const std::size_t count : awkward_sizes) {
      auto buffer = contribution<double>(comm.rank(), count, count);
      comm.allreduce_inplace(buffer, ReduceOp::Sum, cobre::comm::Reproducible::Yes);
      EXPECT_TRUE(all_same(buffer, expected_reduction<double>(ReduceOp::Sum, comm.size(), count, count)));
    }
  });

  group.add("LeavesTheSendBufferAlone", [](const C& comm) {
    for (const std::size_t count : {std::size_t{3}, std::size_t{70'000}}) {
      const auto send = contribution<double>(comm.rank(), count, 8);
      std::vector<double> recv(count);
      comm.allreduce(send, recv, ReduceOp::Sum);
      EXPECT_TRUE(all_same(send, contribution<double>(comm.rank(), count, 8)));
    }
  });

  group.add("PropagatesNaNAndOrdersSignedZeros", [](const C& comm) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto reproducible = cobre::comm::Reproducible::Yes;
    for (std::size_t odd_one = 0; odd_one < comm.size(); ++odd_one) {
      const bool me = comm.rank() == odd_one;
      for (const ReduceOp op : {ReduceOp::Min, ReduceOp::Max}) {
        EXPECT_TRUE(std::isnan(comm.allreduce(me ? nan : 1.0, op, reproducible)));
      }
      EXPECT_TRUE(std::signbit(comm.allreduce(me ? -0.0 : 0.0, ReduceOp::Min, reproducible)));
      EXPECT_EQ(std::signbit(comm.allreduce(me ? 0.0 : -0.0, ReduceOp::Max, reproducible)), false);
      const auto winner = comm.allreduce(ValueIndex<double>{me ? nan : 1.0, static_cast<std::int32_t>(comm.rank())},
                                         ReduceOp::MaxLoc, reproducible);
      EXPECT_TRUE(std::isnan(winner.value));
      EXPECT_EQ(winner.index, static_cast<std::int32_t>(odd_one));
    }
  });

  group.add("GivesTheLowestIndexOfEqualValues", [](const C& comm) {
    const auto index = static_cast<std::int32_t>(comm.size() - comm.rank());
    for (const ReduceOp op : {ReduceOp::MinLoc, ReduceOp::MaxLoc}) {
      EXPECT_EQ(comm.allreduce(ValueIndex<double>{2.5, index}, op), (ValueIndex<double>{2.5, 1}));
    }
  });

  group.add("OfNothingIsLegalAndSynchronises", [](const C& comm) {
    std::vector<double> nothing;
    comm.allreduce(std::vector<double>(), nothing, ReduceOp::Sum);
    comm.allreduce_inplace(nothing, ReduceOp::Max);
    EXPECT_EQ(comm.allreduce(2, ReduceOp::Sum), static_cast<int>(2 * comm.size()));
  });

  group.add("CombinesWithACallableInRankOrder", [](const C& comm) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{9}, std::size_t{5000}, std::size_t{100'001}}) {
      const auto send = contribution<Affine>(comm.rank(), count, count);
      std::vector<Affine> recv(count);
      comm.allreduce(send, recv, after);
      std::vector<Affine> expected = contribution<Affine>(0, count, count);
      for (std::size_t rank = 1; rank < comm.size(); ++rank) {
        const auto next = contribution<Affine>(rank, count, count);
        for (std::size_t i = 0; i < count; ++i) expected[i] = after(expected[i], next[i]);
      }
      EXPECT_TRUE(all_same(recv, expected));
    }
  });

  group.add("UsesTheCapturesOfEachCall", [](const C& comm) {
    for (std::uint64_t modulus : {7U, 1000U, 13U, 1'000'003U}) {
      const auto add = [modulus](std::uint64_t a, std::uint64_t b) { return (a + b) % modulus; };
      EXPECT_EQ(comm.allreduce(std::uint64_t{comm.rank() + 5}, add), merged(
                                                                         [&] {
                                                                           std::vector<std::uint64_t> values;
                                                                           for (std::size_t rank = 0;
                                                                                rank < comm.size(); ++rank)
                                                                             values.push_back(rank + 5);
                                                                           return values;
                                                                         }(),
                                                                         add));
    }
    int calls = 0;
    std::vector<int> buffer(3, 1);
    comm.allreduce_inplace(buffer, [&calls](int a, int b) { return ++calls, a + b; });
    EXPECT_EQ(buffer, std::vector<int>(3, static_cast<int>(comm.size())));
  });

  group.add_on_fresh_ranks("RethrowsWhatACallableThrewAndIsBrokenAfterwards", [](const C& comm) {
    expect_failure_by_callable(comm, 10'000, [](std::size_t) { return true; });
  });

  // Rank 0 stands at the root of the canonical tree, folds a part of every result, and all of a short one.
  group.add_on_fresh_ranks("RethrowsOnTheRankWhoseCallableThrew", [](const C& comm) {
    const bool threw = expect_failure_by_callable(comm, 10'000, [](std::size_t rank) { return rank == 0; });
    EXPECT_EQ(threw, comm.rank() == 0 && comm.size() > 1);
  });
  group.add_on_fresh_ranks("RethrowsWhatACallableThrewOverAFewElements", [](const C& comm) {
    const bool threw = expect_failure_by_callable(comm, 3, [](std::size_t rank) { return rank == 0; });
    EXPECT_EQ(threw, comm.rank() == 0 && comm.size() > 1);
  });

  group.add("RefusesBuffersOfDifferentLength", [](const C& comm) {
    std::vector<double> recv(3);
    expect_buffer_error(comm, 4, 3, [&] { comm.allreduce(std::vector<double>(4), recv, ReduceOp::Sum); });
  });

  group.add("RefusesOverlappingBuffers", [](const C& comm) {
    std::vector<double> both(10);
    volatile std::size_t half = 5;  // a compiler that knew would warn of the overlap by itself
    const std::span<double> all(both);
    expect_buffer_error(comm, 0, 10, [&] { comm.allreduce(all, all, ReduceOp::Sum); });
    expect_buffer_error(comm, 0, 2, [&] { comm.allreduce(all.first(half + 1), all.last(half + 1), ReduceOp::Sum); });
    comm.allreduce(all.first(half), all.last(half), ReduceOp::Sum);
  });

  group.add("RefusesOperationsThatDoNotExistForTheType", [](const C& comm) {
    const auto refuses = [&]<class T>(T value, ReduceOp op) {
      EXPECT_THROW((void)comm.allreduce(value, op), cobre::comm::InvalidOperation) << to_string(op);
    };
    refuses(1.0, ReduceOp::BitwiseOr);
    refuses(1.0F, ReduceOp::LogicalAnd);
    refuses(1.0, ReduceOp::MinLoc);
    refuses(1, ReduceOp::MaxLoc);
    refuses(std::complex<double>(1), ReduceOp::Min);
    refuses(ValueIndex<double>{1, 1}, ReduceOp::Sum);
    refuses(std::byte{1}, ReduceOp::Sum);
    refuses(true, ReduceOp::Sum);
    EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size()));
  });
}

}  // namespace conformance
