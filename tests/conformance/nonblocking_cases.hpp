#pragma once

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>

#include "conformance/splitting_cases.hpp"
#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

using cobre::comm::Request;

/// One count a rank, and where each segment begins.
struct Segments {
  explicit Segments(std::size_t ranks, std::size_t scale = 1) {
    for (std::size_t rank = 0; rank < ranks; ++rank) counts.push_back(scale * (rank + 1));
    displs.resize(ranks);
    std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), std::size_t{0});
  }
  [[nodiscard]] std::size_t total() const { return displs.back() + counts.back(); }
  /// What every rank has gathered.
  [[nodiscard]] std::vector<double> expected(std::uint64_t salt) const {
    std::vector<double> all;
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
      const auto part = contribution<double>(rank, counts[rank], salt);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;
};

/// A reduction whose bits are known on every backend. Canonical ones need a thread of the library's where MPI would
/// not go on with them by itself, and an MPI that lets one thread in has no room for that.
struct ExactReduction {
  ReduceOp op;
  Reproducible reproducible;
};
template <class C>
ExactReduction exact_reduction(const C& comm) {
  return takes_threads(comm) ? ExactReduction{ReduceOp::Sum, Reproducible::Yes}
                             : ExactReduction{ReduceOp::Max, Reproducible::Default};
}

/// For what does not wait even the first time. On mpi a reduction that takes several calls needs a duplicate, and so
/// does everything where calls are checked or run by threads; that is made with all ranks at once.
template <class C>
ExactReduction exact_without_waiting(const C& comm) {
  if (!comm.topology().mpi) return exact_reduction(comm);
  const bool duplicates = std::getenv("COBRE_COMM_CHECK") != nullptr || std::getenv("COBRE_COMM_PROGRESS") != nullptr;
  for (int lane = 0; duplicates && lane < 4; ++lane) comm.ibarrier().wait();
  return {ReduceOp::Max, Reproducible::Default};
}

template <class C>
void nonblocking_cases(Suite<C>& suite) {
  auto group = suite.group("Nonblocking");

  group.add("EveryFormGivesWhatTheBlockingOneGives", [](const C& comm) {
    const auto [op, reproducible] = exact_reduction(comm);
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{40000}}) {
      comm.ibarrier().wait();

      const std::size_t root = count % comm.size();
      auto table = comm.rank() == root ? contribution<double>(root, count) : std::vector<double>(count);
      comm.ibroadcast(table, root).wait();
      EXPECT_TRUE(all_same(table, contribution<double>(root, count)));

      const auto send = contribution<double>(comm.rank(), count, 1);
      std::vector<double> recv(count);
      comm.iallreduce(send, recv, op, reproducible).wait();
      const auto sums = expected_reduction<double>(op, comm.size(), count, 1);
      EXPECT_TRUE(all_same(recv, sums));
      recv = send;
      comm.iallreduce_inplace(recv, op, reproducible).wait();
      EXPECT_TRUE(all_same(recv, sums));

      const Segments segments(comm.size(), count);
      const auto part = contribution<double>(comm.rank(), segments.counts[comm.rank()], 2);
      std::vector<double> all(segments.total());
      comm.iallgatherv(part, all, segments.counts, segments.displs).wait();
      EXPECT_TRUE(all_same(all, segments.expected(2)));
    }
  });

  group.add("ManyMayBeUnderWayAndAreWaitedForInAnyOrder", [](const C& comm) {
    const auto [op, reproducible] = exact_reduction(comm);
    constexpr std::size_t many = 11;
    std::vector<std::vector<double>> results(many);
    for (int round = 0; round < 3; ++round) {
      std::vector<Request> requests;
      for (std::size_t i = 0; i < many; ++i) {
        results[i] = contribution<double>(comm.rank(), 1 + 100 * i, i);
        requests.push_back(comm.iallreduce_inplace(results[i], op, reproducible));
      }
      // Another order on every rank.
      for (std::size_t i = 0; i < many; ++i) requests[(i * (1 + comm.rank()) + comm.rank()) % many].wait();
      for (std::size_t i = 0; i < many; ++i) {
        EXPECT_TRUE(requests[i].is_complete());
        EXPECT_TRUE(all_same(results[i], expected_reduction<double>(op, comm.size(), results[i].size(), i)));
      }
    }
  });

  group.add("BlockingOperationsMayComeBetween", [](const C& comm) {
    const auto [op, reproducible] = exact_reduction(comm);
    auto mine = contribution<double>(comm.rank(), 5000, 3);
    auto request = comm.iallreduce_inplace(mine, op, reproducible);
    // Every other rank waits for its request before it comes to the barrier, the rest after.
    if (comm.rank() % 2 == 1) request.wait();
    comm.barrier();
    check_allreduce<double>(comm, ReduceOp::Sum, 100, 4);
    request.wait();
    EXPECT_TRUE(all_same(mine, expected_reduction<double>(op, comm.size(), 5000, 3)));
  });

  group.add("MessagesMayBeAwaitedBetween", [](const C& comm) {
    const auto [op, reproducible] = exact_without_waiting(comm);
    auto mine = contribution<double>(comm.rank(), 5000, 6);
    const std::size_t last = comm.size() - 1;
    const bool is_last = last > 0 && comm.rank() == last;
    // The last rank begins when the first has gone as far as it can, and answers when it is done: so the first one has
    // to go on with the operation while it awaits the answer.
    if (is_last) {
      EXPECT_EQ(comm.template recv<int>(0, 8), 76);
    }
    auto request = comm.iallreduce_inplace(mine, op, reproducible);
    if (last > 0 && comm.rank() == 0) {
      comm.send(76, last, 8);
      EXPECT_EQ(comm.template recv<int>(last, 8), 77);
    }
    request.wait();
    if (is_last) comm.send(77, 0, 8);
    EXPECT_TRUE(all_same(mine, expected_reduction<double>(op, comm.size(), 5000, 6)));
  });

  group.add("NoStartWaitsForAnotherRank", [](const C& comm) {
    // Those of a new communicator too: the last rank comes to them when it has heard that the first is through.
    const C twin = comm.duplicate();
    const auto [op, reproducible] = exact_without_waiting(twin);
    const std::size_t last = comm.size() - 1;
    std::vector<std::vector<double>> values;
    for (std::size_t i = 0; i < 4; ++i) values.push_back(contribution<double>(comm.rank(), 10 + 1000 * i, i));
    if (last > 0 && comm.rank() == last) {
      EXPECT_EQ(comm.template recv<int>(0, 9), 78);
    }
    std::vector<Request> requests;
    for (auto& value : values) requests.push_back(twin.iallreduce_inplace(value, op, reproducible));
    if (last > 0 && comm.rank() == 0) comm.send(78, last, 9);
    // In the order of the calls: what is called later does not overtake what is only begun.
    check_allreduce<double>(twin, ReduceOp::Sum, 100, 4);
    for (std::size_t i = values.size(); i-- > 0;) requests[i].wait();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(all_same(values[i], expected_reduction<double>(op, comm.size(), values[i].size(), i)));
    }
  });

  group.add("ACommunicatorMayGoBeforeItsFirstRequests", [](const C& comm) {
    const auto [op, reproducible] = exact_reduction(comm);
    auto first = contribution<double>(comm.rank(), 700, 11);
    auto second = contribution<double>(comm.rank(), 8, 12);
    std::vector<Request> requests;
    {
      C twin = comm.duplicate();
      requests.push_back(twin.iallreduce_inplace(first, op, reproducible));
      const C moved = std::move(twin);
      requests.push_back(moved.iallreduce_inplace(second, op, reproducible));
    }
    for (auto& request : requests) request.wait();
    EXPECT_TRUE(all_same(first, expected_reduction<double>(op, comm.size(), 700, 11)));
    EXPECT_TRUE(all_same(second, expected_reduction<double>(op, comm.size(), 8, 12)));
  });

  group.add("TestingGetsThereWithoutWaiting", [](const C& comm) {
    auto request = comm.ibarrier();
    while (!request.test()) std::this_thread::yield();
    EXPECT_TRUE(request.is_complete());
    EXPECT_TRUE(request.test());
    request.wait();
  });

  group.add("AnotherThreadMayWait", [](const C& comm) {
    if (!takes_threads(comm)) return;
    const auto [op, reproducible] = exact_reduction(comm);
    auto first = contribution<double>(comm.rank(), 20000, 9);
    auto second = contribution<double>(comm.rank(), 3, 10);
    auto request = comm.iallreduce_inplace(first, op, reproducible);
    std::thread([&] { request.wait(); }).join();
    EXPECT_TRUE(all_same(first, expected_reduction<double>(op, comm.size(), 20000, 9)));
    request = comm.iallreduce_inplace(second, op, reproducible);
    request.wait();
    EXPECT_TRUE(all_same(second, expected_reduction<double>(op, comm.size(), 3, 10)));
  });

  group.add("ADroppedRequestIsOverBeforeItsBuffersGo", [](const C& comm) {
    const auto [op, reproducible] = exact_reduction(comm);
    auto mine = contribution<double>(comm.rank(), 3000, 5);
    { const auto dropped = comm.iallreduce_inplace(mine, op, reproducible); }
    const auto sums = expected_reduction<double>(op, comm.size(), 3000, 5);
    EXPECT_TRUE(all_same(mine, sums));

    mine = contribution<double>(comm.rank(), 3000, 5);
    Request request = comm.iallreduce_inplace(mine, op, reproducible);
    request = comm.ibarrier();  // what it held before is over
    EXPECT_TRUE(all_same(mine, sums));
    Request moved = std::move(request);
    EXPECT_TRUE(request.is_complete());  // NOLINT(bugprone-use-after-move): it is inert
    moved.wait();
  });

  group.add("WhatIsMovedInIsHandedBack", [](const C& comm) {
    const auto [op, reproducible] = exact_reduction(comm);
    auto pending = comm.iallreduce(contribution<double>(comm.rank(), 500, 6), op, reproducible);
    auto value = comm.iallreduce(static_cast<int>(comm.rank()), ReduceOp::Max);
    auto words = comm.ibroadcast(std::vector<std::size_t>(3, comm.rank()), comm.size() - 1);
    EXPECT_EQ(value.get(), static_cast<int>(comm.size()) - 1);
    EXPECT_TRUE(all_same(pending.get(), expected_reduction<double>(op, comm.size(), 500, 6)));
    EXPECT_EQ(words.get(), std::vector<std::size_t>(3, comm.size() - 1));
    EXPECT_THROW((void)words.get(), cobre::comm::InvalidOperation);
    auto dropped = comm.ibroadcast(std::vector<double>(20000, 1.0), 0);
    dropped = comm.ibroadcast(std::vector<double>(30000, 2.0), 0);
  });

  group.add("BadArgumentsAreRefusedBeforeAnythingBegins", [](const C& comm) {
    std::vector<double> buffer(4);
    std::vector<double> longer(5);
    EXPECT_THROW((void)comm.ibroadcast(buffer, comm.size()), cobre::comm::InvalidRoot);
    EXPECT_THROW((void)comm.iallreduce(buffer, longer, ReduceOp::Sum), cobre::comm::InvalidBufferSize);
    EXPECT_THROW((void)comm.allreduce_init(buffer, longer, ReduceOp::Sum), cobre::comm::InvalidBufferSize);
    comm.ibroadcast(buffer, 0).wait();
  });

  group.add("WhatNeedsAThreadIsRefusedWhereMpiLetsNoneIn", [](const C& comm) {
    if (takes_threads(comm)) return;
    std::vector<double> buffer(3);
    EXPECT_THROW((void)comm.iallreduce_inplace(buffer, ReduceOp::Sum, Reproducible::Yes),
                 cobre::comm::InvalidOperation);
    EXPECT_THROW((void)comm.iallreduce_inplace(buffer, [](double a, double b) { return a + b; }),
                 cobre::comm::InvalidOperation);
    comm.iallreduce_inplace(buffer, ReduceOp::Sum).wait();
  });

  group.add("CallablesGoAlongAndWhatTheyThrowIsThrownByWait", [](const C& comm) {
    if (!takes_threads(comm)) return;  // refused: see above
    // A communicator of its own, because it is broken afterwards.
    const C twin = comm.duplicate();
    const auto mine = contribution<Affine>(comm.rank(), 100, 7);
    std::vector<Affine> recv(100);
    std::uint64_t shift = 0;  // captured by value, and gone from here when it is called
    twin.iallreduce(mine, recv,
                    [shift](const Affine& a, const Affine& b) {
                      const Affine both = after(a, b);
                      return Affine{both.scale, both.shift + shift};
                    })
        .wait();
    for (std::size_t i = 0; i < recv.size(); ++i) {
      std::vector<Affine> column;
      for (std::size_t rank = 0; rank < comm.size(); ++rank) column.push_back(contribution<Affine>(rank, 100, 7)[i]);
      EXPECT_EQ(recv[i], merged(column, after));
    }
    if (comm.size() == 1) return;  // nothing to combine
    auto failing = twin.iallreduce(
        mine, recv, [](const Affine&, const Affine&) -> Affine { throw std::domain_error("not like this"); });
    EXPECT_ANY_THROW(failing.wait());
    EXPECT_TRUE(failing.is_complete());
    comm.barrier();
  });
}

template <class C>
void persistent_cases(Suite<C>& suite) {
  auto group = suite.group("Persistent");

  group.add("EveryRoundTakesTheDataAsItIsAtItsStart", [](const C& comm) {
    const auto [op, reproducible] = exact_reduction(comm);
    constexpr std::size_t count = 300;
    std::vector<double> send(count);
    std::vector<double> recv(count);
    std::vector<double> table(count);
    std::optional<Segments> segments(Segments(comm.size(), 7));
    std::vector<double> part(segments->counts[comm.rank()]);
    std::vector<double> all(segments->total());
    auto reduce = comm.allreduce_init(send, recv, op, reproducible);
    auto broadcast = comm.broadcast_init(table, comm.size() - 1);
    auto gather = comm.allgatherv_init(part, all, segments->counts, segments->displs);
    segments.reset();  // counts are kept by the plan
    for (std::uint64_t round = 0; round < 5; ++round) {
      // Into the buffers: another vector would have its elements elsewhere.
      std::ranges::copy(contribution<double>(comm.rank(), count, round), send.begin());
      std::ranges::copy(contribution<double>(comm.rank(), count, 100 + round), table.begin());
      std::ranges::copy(contribution<double>(comm.rank(), part.size(), 200 + round), part.begin());
      reduce.start();
      broadcast.start();
      gather.start();
      EXPECT_TRUE(reduce.is_active());
      comm.barrier();
      gather.wait();
      reduce.wait();
      while (!broadcast.test()) std::this_thread::yield();
      EXPECT_FALSE(reduce.is_active() || broadcast.is_active() || gather.is_active());
      EXPECT_TRUE(all_same(recv, expected_reduction<double>(op, comm.size(), count, round)));
      EXPECT_TRUE(all_same(table, contribution<double>(comm.size() - 1, count, 100 + round)));
      EXPECT_TRUE(all_same(all, Segments(comm.size(), 7).expected(200 + round)));
    }
  });

  group.add("OneRoundAtATimeAndWaitingForNoneReturnsAtOnce", [](const C& comm) {
    std::vector<double> table(10, 1.0);
    auto plan = comm.broadcast_init(table, 0);
    plan.wait();
    EXPECT_TRUE(plan.test());
    plan.start();
    EXPECT_THROW(plan.start(), cobre::comm::InvalidOperation);
    plan.wait();
    plan.start();
    plan.wait();
  });

  group.add("APlanIsMovedAndOutlivesItsCommunicatorAndIsDroppedWhileItRuns", [](const C& comm) {
    const auto [op, reproducible] = exact_reduction(comm);
    auto mine = contribution<double>(comm.rank(), 2000, 8);
    std::vector<double> recv(2000);
    {
      std::optional<C> twin(comm.duplicate());
      auto first = twin->allreduce_init(mine, recv, op, reproducible);
      twin.reset();
      first.start();
      auto second = std::move(first);
      second.wait();
      second.start();
    }
    EXPECT_TRUE(all_same(recv, expected_reduction<double>(op, comm.size(), 2000, 8)));
  });
}

}  // namespace conformance
