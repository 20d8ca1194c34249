// The concepts see what is wrong: backends that differ from a right one in one place each. Whatever a concept asks for,
// one of these does not have, or has differently.

#include <cobre/comm.hpp>

namespace {

using namespace cobre::comm;

struct RankIsAnInt : LocalBackend {
  int rank() const noexcept { return 0; }
};
struct RankMayThrow : LocalBackend {
  std::size_t rank() const { return 0; }
};
struct BarrierIsNotConst : LocalBackend {
  void barrier() {}
};
struct BroadcastOfDoubleOnly : LocalBackend {
  void broadcast(std::span<double>, std::size_t) const {}
  double broadcast(const double& value, std::size_t) const { return value; }
};
struct BroadcastReturnsACount : LocalBackend {
  template <class Range>
  std::size_t broadcast(Range&&, std::size_t) const {
    return 0;
  }
};
struct ReducesNoStructs : LocalBackend {
  template <class S, class R>
  void allreduce(S&&, R&&, ReduceOp, Reproducible = {}) const {}
  template <class T>
  T allreduce(const T& value, ReduceOp, Reproducible = {}) const {
    return value;
  }
  template <class R>
  void allreduce_inplace(R&&, ReduceOp) const {}
};
struct GathersWithoutDisplacements : LocalBackend {
  template <class S, class R>
  void allgatherv(S&&, R&&, std::span<const std::size_t>) const {}
};
struct RegionIsAVector : LocalBackend {
  template <class T>
  std::vector<T> create_shared_region(std::size_t count, RegionOptions = {}) const {
    return std::vector<T>(count);
  }
};
struct TopologyByValue : LocalBackend {
  ExecutionTopology topology() const { return {}; }
};
struct SplitLocalIsARawPointer : LocalBackend {
  LocalCommunicator* split_local() const { return nullptr; }
};
struct LeaderIsAnInt : LocalBackend {
  int is_leader() const { return 1; }
};
struct NotACommunicator {};

static_assert(!Communicator<RankIsAnInt> && !Communicator<RankMayThrow> && !Communicator<BarrierIsNotConst>);
static_assert(!Communicator<BroadcastOfDoubleOnly> && !Communicator<BroadcastReturnsACount>);
static_assert(!Communicator<ReducesNoStructs> && !Communicator<GathersWithoutDisplacements>);
static_assert(!Communicator<NotACommunicator> && !SharedMemoryProvider<NotACommunicator> &&
              !TopologyProvider<NotACommunicator>);
static_assert(!SharedMemoryProvider<RegionIsAVector> && Communicator<RegionIsAVector>);
static_assert(!SharedMemoryProvider<SplitLocalIsARawPointer> && !SharedMemoryProvider<LeaderIsAnInt>);
static_assert(!TopologyProvider<TopologyByValue>);

struct GathersNoValues : LocalBackend {
  template <class S, class R>
  void gather(S&&, R&&, std::size_t) const {}
};
struct ExchangesWithoutLengths : LocalBackend {
  template <class S>
  std::vector<std::remove_cv_t<typename S::element_type>> alltoallv(S, std::span<const std::size_t>) const {
    return {};
  }
  template <class S, class R>
  void alltoallv(S, std::span<const std::size_t>, std::span<const std::size_t>, R, std::span<const std::size_t>,
                 std::span<const std::size_t>) const {}
};
struct ScattersNumbersOnly : LocalBackend {
  template <class S, class R>
  requires Reducible<typename R::element_type>
  void scatter(S, R, std::size_t) const {}
};
static_assert(Communicator<GathersNoValues> && !MovingCollectives<GathersNoValues>);
static_assert(!MovingCollectives<ExchangesWithoutLengths> && !MovingCollectives<ScattersNumbersOnly>);

struct ScansNoStructs : LocalBackend {
  template <class S, class R>
  void scan(S&&, R&&, ReduceOp) const {}
  template <class T>
  T scan(const T& value, ReduceOp) const {
    return value;
  }
};
struct ReducesToEveryone : LocalBackend {
  template <class S, class R, class Op>
  void reduce(S&&, R&&, Op) const {}
};
struct ScattersBlocksInAnyOrder : LocalBackend {
  template <class S, class R, class Op>
  void reduce_scatter_block(S&&, R&&, Op) const {}
};
static_assert(Communicator<ScansNoStructs> && !ReducingCollectives<ScansNoStructs>);
static_assert(!ReducingCollectives<ReducesToEveryone> && !ReducingCollectives<ScattersBlocksInAnyOrder>);

struct AgreesByNumber : LocalBackend {
  int agree(bool yes) const { return yes ? 1 : 0; }
};
struct SumsDoublesOnly : LocalBackend {
  double reproducible_sum(std::span<const double>) const { return 0; }
  double reproducible_sum(double value) const { return value; }
};
struct GathersUnknownCountsOfDoubles : LocalBackend {
  template <class S, class R>
  void allgatherv(S&&, R&&, std::span<const std::size_t>, std::span<const std::size_t>) const {}
  Gathered<double> allgatherv(std::span<const double>) const { return {}; }
};
struct ResizesNoStructs : LocalBackend {
  void broadcast_resized(std::vector<double>&, std::size_t) const {}
  void broadcast_resized(std::vector<std::int32_t>&, std::size_t) const {}
};
static_assert(Communicator<AgreesByNumber> && !ComposedCollectives<AgreesByNumber>);
static_assert(!ComposedCollectives<SumsDoublesOnly> && !ComposedCollectives<ResizesNoStructs>);
static_assert(Communicator<GathersUnknownCountsOfDoubles> && !ComposedCollectives<GathersUnknownCountsOfDoubles>);

struct BarrierIsOverAtOnce : LocalBackend {
  void ibarrier() const {}
};
struct StartsNoReductionInPlace : LocalBackend {
  template <class B, class Op>
  void iallreduce_inplace(B&&, Op, Reproducible = {}) const {}
};
struct StartsReductionsOfBuffersOnly : LocalBackend {
  template <class S, class R, class Op>
  Request iallreduce(S&&, R&&, Op, Reproducible = {}) const {
    return Request();
  }
};
struct StartsBroadcastsOfDoublesOnly : LocalBackend {
  Request ibroadcast(std::span<double>, std::size_t) const { return Request(); }
  Pending<std::vector<double>> ibroadcast(std::vector<double>&&, std::size_t) const;
  Pending<double> ibroadcast(const double&, std::size_t) const;
};
struct GathersAtOnce : LocalBackend {
  template <class S, class R>
  void iallgatherv(S&&, R&&, std::span<const std::size_t>, std::span<const std::size_t>) const {}
};
static_assert(Communicator<BarrierIsOverAtOnce> && !NonblockingCollectives<BarrierIsOverAtOnce>);
static_assert(!NonblockingCollectives<StartsNoReductionInPlace> &&
              !NonblockingCollectives<StartsReductionsOfBuffersOnly> &&
              !NonblockingCollectives<StartsBroadcastsOfDoublesOnly> && !NonblockingCollectives<GathersAtOnce>);
static_assert(detail::Starts<LocalBackend, double, ReduceOp> &&
              !detail::Starts<StartsBroadcastsOfDoublesOnly, std::int32_t, ReduceOp>);

struct PlansBroadcastsOfDoublesOnly : LocalBackend {
  PersistentRequest broadcast_init(std::span<double>, std::size_t) const;
};
struct PlanIsARequest : LocalBackend {
  template <class S, class R, class Op>
  Request allreduce_init(S&&, R&&, Op, Reproducible = {}) const {
    return Request();
  }
};
struct PlansGathersOfEqualParts : LocalBackend {
  template <class S, class R>
  PersistentRequest allgatherv_init(S&&, R&&) const;
};
static_assert(Communicator<PlanIsARequest> && !PersistentCollectives<PlanIsARequest>);
static_assert(!PersistentCollectives<PlansBroadcastsOfDoublesOnly> && !PersistentCollectives<PlansGathersOfEqualParts>);

// A part is of the type of the whole, so what derives from a right backend is not right yet.
template <class Self>
struct DividesWell : LocalBackend {
  std::optional<Self> split(int, int = 0) const;
  Self duplicate() const;
  Self node() const;
};
struct Divides : DividesWell<Divides> {};
struct SplitsWithoutKeys : DividesWell<SplitsWithoutKeys> {
  std::optional<SplitsWithoutKeys> split(int) const;
};
struct LeavesNobodyOut : DividesWell<LeavesNobodyOut> {
  LeavesNobodyOut split(int, int = 0) const;
};
struct DuplicateIsAnotherType : DividesWell<DuplicateIsAnotherType> {
  LocalBackend duplicate() const { return {}; }
};
struct NodeIsLocal : DividesWell<NodeIsLocal> {
  std::unique_ptr<LocalCommunicator> node() const { return nullptr; }
};
static_assert(Splittable<Divides> && !Splittable<SplitsWithoutKeys> && !Splittable<LeavesNobodyOut> &&
              !Splittable<DuplicateIsAnotherType> && !Splittable<NodeIsLocal>);

struct TagIsAnInt : LocalChannel {
  int tag() const { return 0; }
};
struct PeerIsAnInt : LocalChannel {
  int peer_rank() const { return 0; }
};
struct ReceivesNoValues : LocalChannel {
  template <class Buffer>
  void recv(Buffer&&, std::chrono::nanoseconds = {}) const {}
};
struct SendsDoublesOnly : LocalChannel {
  void send(std::span<const double>) const {}
  void send(const double&) const {}
};
static_assert(Channel<LocalChannel> && !Channel<TagIsAnInt> && !Channel<PeerIsAnInt>);
static_assert(!Channel<ReceivesNoValues> && !Channel<SendsDoublesOnly> && !Channel<LocalBackend>);

struct ChannelIsAPointer : LocalBackend {
  std::unique_ptr<LocalChannel> channel(std::size_t, std::int64_t) const { return nullptr; }
};
struct LargestTagIsAnInt : LocalBackend {
  int largest_tag() const { return 1; }
};
static_assert(!ChannelProvider<ChannelIsAPointer> && !ChannelProvider<LargestTagIsAnInt>);

struct ReceivesIntoBuffersOnly : LocalBackend {
  template <class Buffer>
  void recv(Buffer&&, std::size_t, std::int64_t = 0) const {}
};
struct SendsNoStructs : LocalBackend {
  template <class Data>
  requires(!std::same_as<std::remove_cvref_t<Data>, detail::StructArchetype>) void send(const Data&, std::size_t,
                                                                                        std::int64_t = 0) const {}
};
struct SendsOrReceives : LocalBackend {
  void sendrecv() const {}
};
static_assert(!PointToPoint<ReceivesIntoBuffersOnly> && !PointToPoint<SendsNoStructs> &&
              !PointToPoint<SendsOrReceives>);

static_assert(std::is_empty_v<LocalBackend>);
static_assert(!std::copy_constructible<LocalBackend> && std::movable<LocalBackend>);
static_assert(!std::copy_constructible<CommBackend> && std::movable<CommBackend>);
static_assert(!std::copy_constructible<HeapRegion<double>> && std::movable<HeapRegion<double>>);
static_assert(SharedRegion<HeapRegion<double>, double> && !SharedRegion<HeapRegion<double>, float> &&
              !SharedRegion<std::vector<double>, double>);
static_assert(SharedRegion<CommRegion<double>, double>);

}  // namespace
