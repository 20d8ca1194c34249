// Watching operations: what an observer is told, of whatever a communicator does.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cobre::comm;

template <class C>
concept HasEverything = Communicator<C> && SharedMemoryProvider<C> && TopologyProvider<C> && ChannelProvider<C> &&
    PointToPoint<C> && MovingCollectives<C> && ReducingCollectives<C> && ComposedCollectives<C> && Splittable<C> &&
    NonblockingCollectives<C> && PersistentCollectives<C>;
static_assert(HasEverything<Observed<LocalBackend, OperationStatistics>>);
static_assert(HasEverything<Observed<CommBackend, OperationStatistics>>);
static_assert(HasEverything<Observed<Observed<LocalBackend, OperationStatistics>, OperationStatistics>>);

// One that has no more than it must.
class Plain : public detail::Collectives<Plain> {
 public:
  std::size_t rank() const noexcept { return 0; }
  std::size_t size() const noexcept { return 1; }
  void abort(int) const {}

 private:
  friend class detail::Collectives<Plain>;
  template <class Call>
  void execute(const detail::OperationRecord&, const Call&) const {}
};
using WatchedPlain = Observed<Plain, OperationStatistics>;
static_assert(MovingCollectives<WatchedPlain> && ReducingCollectives<WatchedPlain> &&
              ComposedCollectives<WatchedPlain>);
static_assert(!SharedMemoryProvider<WatchedPlain> && !TopologyProvider<WatchedPlain> &&
              !ChannelProvider<WatchedPlain> && !PointToPoint<WatchedPlain> && !Splittable<WatchedPlain> &&
              !NonblockingCollectives<WatchedPlain> && !PersistentCollectives<WatchedPlain>);
static_assert(!std::copy_constructible<WatchedPlain> && std::movable<WatchedPlain>);

using Names = std::vector<std::string>;
struct NotesNames {
  void operator()(const ObservedOperation& operation) { names.emplace_back(operation.name); }
  /// Those since the last time.
  Names news() { return std::exchange(names, {}); }
  Names names;
};

TEST(Observed, ReportsEveryCollectiveAndItsBytes) {
  const LocalBackend comm;
  std::vector<std::pair<std::string, std::size_t>> log;
  const auto observer = [&log](const ObservedOperation& operation) {
    log.emplace_back(operation.name, operation.bytes);
    EXPECT_GE(operation.time.count(), 0);
  };
  const Observed watched(comm, observer);
  static_assert(Communicator<std::remove_const_t<decltype(watched)>>);
  watched.barrier();
  EXPECT_EQ(watched.broadcast(5, 0), 5);
  EXPECT_EQ(watched.allreduce(2.5, ReduceOp::Sum), 2.5);
  std::vector<float> recv(3);
  watched.allgatherv(std::vector<float>{1, 2, 3}, recv, std::array<std::size_t, 1>{3}, std::array<std::size_t, 1>{0});
  EXPECT_EQ(log, (std::vector<std::pair<std::string, std::size_t>>{
                     {"barrier", 0}, {"broadcast", 4}, {"allreduce", 8}, {"allgatherv", 12}}));
}

TEST(Observed, CountsWhatThisRankGivesIntoEachOperation) {
  const LocalBackend comm;
  std::vector<std::pair<std::string, std::size_t>> log;
  const auto observer = [&log](const ObservedOperation& operation) {
    log.emplace_back(operation.name, operation.bytes);
  };
  const Observed watched(comm, observer);
  static_assert(MovingCollectives<std::remove_const_t<decltype(watched)>>);
  static_assert(ReducingCollectives<std::remove_const_t<decltype(watched)>>);
  std::vector<float> recv(3);
  const std::vector<float> send{1, 2, 3};
  watched.gather(send, recv, 0);
  watched.scatter(send, recv, 0);
  watched.alltoall(send, recv);
  watched.allgather(send, recv);
  watched.reduce(send, recv, ReduceOp::Sum, 0);
  watched.reduce_scatter_block(send, recv, ReduceOp::Sum);
  EXPECT_EQ(watched.scan(1.0, ReduceOp::Sum), 1.0);
  EXPECT_EQ(watched.exscan(1.0, ReduceOp::Sum), 0.0);
  EXPECT_EQ(log, (std::vector<std::pair<std::string, std::size_t>>{{"gather", 12},
                                                                   {"scatter", 12},
                                                                   {"alltoall", 12},
                                                                   {"allgather", 12},
                                                                   {"reduce", 12},
                                                                   {"reduce_scatter_block", 12},
                                                                   {"scan", 8},
                                                                   {"exscan", 8}}));
}

// What is made of several exchanges has one name: it is the one that errors and warnings give.
TEST(Observed, NamesEveryExchangeByTheCall) {
  const LocalBackend comm;
  std::vector<std::string> log;
  const auto observer = [&log](const ObservedOperation& operation) { log.emplace_back(operation.name); };
  const Observed watched(comm, observer);
  EXPECT_EQ(watched.reproducible_sum(1.0F), 1.0F);
  EXPECT_EQ(watched.reproducible_sum(std::vector{1e300, 1.0, 1e-100, 1e-200, 1e-300}), 1e300);
  EXPECT_EQ(log, std::vector<std::string>(3, "reproducible_sum"));
  log.clear();
  std::vector<double> much(5000);
  watched.broadcast_resized(much, 0);
  EXPECT_EQ(log, std::vector<std::string>(3, "broadcast_resized"));
}

TEST(Observed, DoesNotCountWhatWasRefused) {
  const LocalBackend comm;
  OperationStatistics statistics;
  const Observed watched(comm, statistics);
  EXPECT_THROW((void)watched.broadcast(1, 3), InvalidRoot);
  EXPECT_EQ(watched.allreduce(1, ReduceOp::Sum), 1);
  watched.barrier();
  EXPECT_EQ(statistics.total().calls, 2U);
  EXPECT_EQ(statistics.total().bytes, 4U);
}

TEST(Observed, ReportsRegionsAndTheirFences) {
  const LocalBackend comm;
  std::vector<std::pair<std::string, std::size_t>> log;
  const auto observer = [&log](const ObservedOperation& operation) {
    log.emplace_back(operation.name, operation.bytes);
    EXPECT_GE(operation.time.count(), 0);
  };
  const Observed watched(comm, observer);
  auto region = watched.create_shared_region<double>(5);
  region.as_mut_span()[4] = 2.5;
  region.fence();
  EXPECT_EQ(region.as_span()[4], 2.5);
  EXPECT_EQ(region.as_partition_span().size(), 5U);
  auto moved = std::move(region);
  moved.fence();
  EXPECT_EQ(moved.size(), 5U);
  EXPECT_THROW((void)watched.create_shared_region<double>(std::size_t{1} << 44), AllocationFailed);
  EXPECT_EQ(
      log, (std::vector<std::pair<std::string, std::size_t>>{{"create_shared_region", 0}, {"fence", 0}, {"fence", 0}}));
}

TEST(Observed, ReportsThatPartsAreMadeAndWhatTheyDo) {
  const LocalBackend comm;
  NotesNames notes;
  const Observed watched(comm, notes);
  const auto part = watched.split(0);
  ASSERT_TRUE(part.has_value());
  part->barrier();
  EXPECT_EQ(notes.news(), (Names{"split", "barrier"}));
  EXPECT_FALSE(watched.split(undefined_color).has_value());
  EXPECT_EQ(notes.news(), Names{"split"});
  EXPECT_EQ(watched.duplicate().allreduce(3, ReduceOp::Sum), 3);
  EXPECT_EQ(watched.node().split(0)->broadcast(4, 0), 4);
  EXPECT_EQ(notes.news(), (Names{"duplicate", "allreduce", "node", "split", "broadcast"}));
  const auto ranks = watched.split_local();
  ranks->barrier();
  EXPECT_EQ(ranks->rank(), 0U);
  EXPECT_EQ(ranks->size(), 1U);
  EXPECT_EQ(notes.news(), (Names{"split_local", "barrier"}));
}

TEST(Observed, ReportsWhatNobodyWaitsForUnderTheNameOfWhatWaits) {
  const LocalBackend comm;
  NotesNames notes;
  const Observed watched(comm, notes);
  const std::vector<double> send(3, 1.5);
  std::vector<double> recv(3);
  const std::array<std::size_t, 1> count{3};
  const std::array<std::size_t, 1> place{0};
  watched.ibarrier().wait();
  watched.ibroadcast(recv, 0).wait();
  watched.iallreduce(send, recv, ReduceOp::Sum).wait();
  EXPECT_EQ(watched.iallreduce(2, ReduceOp::Max).get(), 2);
  watched.iallgatherv(send, recv, count, place).wait();
  EXPECT_EQ(recv, send);
  EXPECT_EQ(notes.news(), (Names{"barrier", "broadcast", "allreduce", "allreduce", "allgatherv"}));
  EXPECT_THROW((void)watched.ibroadcast(recv, 1), InvalidRoot);
  EXPECT_EQ(notes.news(), Names());
}

TEST(Observed, ReportsEachRoundOfAPlan) {
  const LocalBackend comm;
  NotesNames notes;
  const Observed watched(comm, notes);
  const std::vector<double> send(3, 1.5);
  std::vector<double> recv(3);
  auto plan = watched.allreduce_init(send, recv, ReduceOp::Sum);
  EXPECT_EQ(notes.news(), Names{"duplicate"}) << "which the plan runs on";
  for (int round = 0; round < 2; ++round) {
    plan.start();
    plan.wait();
    EXPECT_EQ(notes.news(), Names{"allreduce"});
  }
  EXPECT_EQ(recv, send);
}

TEST(Observed, LetsMessagesPassUnseen) {
  const LocalBackend comm;
  NotesNames notes;
  const Observed watched(comm, notes);
  watched.send(7, 0);
  EXPECT_EQ(comm.recv<int>(0), 7) << "they are those of the communicator";
  comm.send(std::array{1, 2}, 0);
  std::array<int, 2> pair{};
  watched.recv(pair, 0);
  EXPECT_EQ(pair, (std::array{1, 2}));
  const std::array<int, 2> send{3, 4};
  watched.sendrecv(send, 0, pair, 0);
  EXPECT_EQ(pair, send);
  const auto channel = watched.channel(0, 5);
  channel.send(9);
  EXPECT_EQ(channel.recv<int>(), 9);
  EXPECT_EQ(watched.largest_tag(), comm.largest_tag());
  EXPECT_EQ(notes.news(), Names());
}

TEST(Observed, KnowsWhatItsCommunicatorKnows) {
  const LocalBackend comm;
  NotesNames notes;
  const Observed watched(comm, notes);
  EXPECT_EQ(&watched.topology(), &comm.topology());
  EXPECT_TRUE(watched.is_leader());
  EXPECT_EQ(notes.news(), Names());
  EXPECT_EXIT(watched.abort(6), testing::ExitedWithCode(6), "");
}

TEST(Observed, MayBeMovedAndWatchedOnceMore) {
  const LocalBackend comm;
  NotesNames inner;
  NotesNames outer;
  const auto moved = [&] {
    Observed first(comm, inner);
    auto part = first.duplicate();
    part = std::move(first);
    return part;
  }();
  const Observed twice(moved, outer);
  twice.barrier();
  auto region = twice.create_shared_region<int>(2);
  region.fence();
  EXPECT_EQ(inner.news(), (Names{"duplicate", "barrier", "create_shared_region", "fence"}));
  EXPECT_EQ(outer.news(), (Names{"barrier", "create_shared_region", "fence"}));
}

}  // namespace
