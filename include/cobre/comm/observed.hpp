// Watching operations: a communicator that reports each collective of another one.
//
// Everything collective is reported, once it has succeeded on this rank, under the name that errors give it:
//   every operation of Collectives      an exchange at a time: one that is made of several is reported several times
//   create_shared_region, fence         of no bytes, for they move none; likewise the next
//   split, duplicate, node, split_local and the barriers of what split_local() gave
// What split(), duplicate() and node() give reports to the same observer. An operation that nobody waits for, and a
// round of a plan, is reported by whoever brings it to its end, under the name of the blocking form and with the time
// from its beginning: that may be a thread of the library (COBRE_COMM_PROGRESS=thread). The duplicates that they run on
// are reported as what they are. Messages between two ranks are not collective, and pass unseen.
#pragma once

#include <cobre/comm/channel.hpp>
#include <cobre/comm/concepts.hpp>
#include <cobre/comm/detail/collectives.hpp>
#include <cobre/comm/detail/nonblocking.hpp>
#include <cobre/comm/detail/watch.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace cobre::comm {

namespace detail {

/// The region that a communicator gives, where it gives one.
template <class C, class T>
struct RegionFrom {};
template <class C, class T>
requires requires(const C& comm) {
  comm.template create_shared_region<T>(0);
}
struct RegionFrom<C, T> {
  using type = decltype(std::declval<const C&>().template create_shared_region<T>(0));
};

/// A communicator without operations that go on by themselves has none when it is watched.
struct NothingGoesOn {};
template <class C>
concept HasLanes = requires(const C& comm, Drive drive) {
  comm.seed_lane(drive);
};
template <class C, class Watching>
using HolderOf =
    std::conditional_t<std::derived_from<C, NonblockingOperations<C, NoLanes>>, NoLanes, LaneHolder<Watching>>;
template <class C, class Watching>
using OverlapOf =
    std::conditional_t<HasLanes<C>, NonblockingOperations<Watching, HolderOf<C, Watching>>, NothingGoesOn>;

}  // namespace detail

/// Calls `observer(ObservedOperation)` after every collective that succeeded on this rank, one call at a time. Models
/// what the communicator models. The communicator must outlive it, and the observer everything that was made of it. A
/// communicator that is not wrapped pays nothing.
template <Communicator C, class Observer>
class Observed : public detail::Collectives<Observed<C, Observer>>, public detail::OverlapOf<C, Observed<C, Observer>> {
 public:
  /// Reports its fences.
  template <CommData T>
  using Region = detail::WatchedRegion<typename detail::RegionFrom<C, T>::type, Observer>;

  Observed(const C& comm, Observer& observer) : original_(&comm), watch_(observer) {}

  [[nodiscard]] std::size_t rank() const noexcept { return comm().rank(); }
  [[nodiscard]] std::size_t size() const noexcept { return comm().size(); }
  [[noreturn]] void abort(int code) const {
    comm().abort(code);
    __builtin_unreachable();
  }

  [[nodiscard]] const ExecutionTopology& topology() const requires TopologyProvider<C> { return comm().topology(); }
  [[nodiscard]] bool is_leader() const requires SharedMemoryProvider<C> { return comm().is_leader(); }

  template <CommData T>
  requires SharedMemoryProvider<C>
  [[nodiscard]] Region<T> create_shared_region(std::size_t count, const RegionOptions& options = {}) const {
    const auto begin = Clock::now();
    auto region = comm().template create_shared_region<T>(count, options);
    watch_.report(to_string(detail::Operation::CreateRegion), 0, begin);
    return {std::move(region), watch_};
  }
  [[nodiscard]] std::unique_ptr<LocalCommunicator> split_local() const requires SharedMemoryProvider<C> {
    const auto begin = Clock::now();
    auto node = comm().split_local();
    watch_.report("split_local", 0, begin);
    return std::make_unique<detail::WatchedNode<Observer>>(std::move(node), watch_);
  }

  [[nodiscard]] std::optional<Observed> split(int color, int key = 0) const requires Splittable<C> {
    const auto begin = Clock::now();
    auto part = comm().split(color, key);
    watch_.report(to_string(detail::Operation::Split), 0, begin);
    if (!part) return std::nullopt;
    return Observed(std::move(*part), watch_);
  }
  [[nodiscard]] Observed duplicate() const requires Splittable<C> {
    const auto begin = Clock::now();
    auto part = comm().duplicate();
    watch_.report(to_string(detail::Operation::Duplicate), 0, begin);
    return Observed(std::move(part), watch_);
  }
  [[nodiscard]] Observed node() const requires Splittable<C> {
    const auto begin = Clock::now();
    auto part = comm().node();
    watch_.report(to_string(detail::Operation::Node), 0, begin);
    return Observed(std::move(part), watch_);
  }

  // Messages, as they are.
  [[nodiscard]] auto channel(std::size_t peer, std::int64_t tag) const requires ChannelProvider<C> {
    return comm().channel(peer, tag);
  }
  [[nodiscard]] std::int64_t largest_tag() const requires ChannelProvider<C> { return comm().largest_tag(); }
  template <class Data>
  requires PointToPoint<C>
  void send(const Data& data, std::size_t destination, std::int64_t tag = 0) const {
    comm().send(data, destination, tag);
  }
  template <detail::BufferLike Buffer>
  requires PointToPoint<C>
  void recv(Buffer&& buffer, std::size_t source, std::int64_t tag = 0) const {
    comm().recv(std::forward<Buffer>(buffer), source, tag);
  }
  template <CommData T>
  requires PointToPoint<C>
  [[nodiscard]] T recv(std::size_t source, std::int64_t tag = 0) const { return comm().template recv<T>(source, tag); }
  template <detail::BufferLike Send, detail::BufferLike Recv>
  requires PointToPoint<C>
  void sendrecv(const Send& send, std::size_t destination, Recv&& recv, std::size_t source,
                std::int64_t tag = 0) const {
    comm().sendrecv(send, destination, std::forward<Recv>(recv), source, tag);
  }
  template <CommData T>
  requires(PointToPoint<C> && !detail::BufferLike<T>) [[nodiscard]] T
      sendrecv(const T& value, std::size_t destination, std::size_t source, std::int64_t tag = 0) const {
    return comm().sendrecv(value, destination, source, tag);
  }

 private:
  friend class detail::Collectives<Observed>;
  template <class, class>
  friend class detail::NonblockingOperations;
  using Clock = typename detail::Watch<Observer>::Clock;

  /// Of a part, which is nobody else's.
  Observed(C&& own, const detail::Watch<Observer>& watch) : own_(std::move(own)), watch_(watch) {}

  // What was moved from holds what its communicator left behind, and so refuses what that refuses.
  [[nodiscard]] const C& comm() const noexcept { return own_ ? *own_ : *original_; }

  [[nodiscard]] detail::LaneSeed<Observed> lane_seed(detail::Drive drive) const {
    auto seed = comm().seed_lane(drive);
    return {Observed(std::move(seed.comm), watch_), std::move(seed.place)};
  }

  static std::size_t bytes_of(const detail::BarrierCall&, std::size_t, std::size_t) { return 0; }
  static std::size_t bytes_of(const detail::BroadcastCall& call, std::size_t, std::size_t) { return call.bytes; }
  static std::size_t bytes_of(const detail::AllreduceCall& call, std::size_t, std::size_t) {
    return call.count * call.element_size;
  }
  static std::size_t bytes_of(const detail::AllgathervCall& call, std::size_t rank, std::size_t) {
    return call.counts[rank] * call.element_size;
  }
  static std::size_t bytes_of(const detail::GatherCall& call, std::size_t, std::size_t) {
    return call.count * call.element_size;
  }
  static std::size_t bytes_of(const detail::ReduceScatterCall& call, std::size_t, std::size_t size) {
    return call.count * size * call.element_size;
  }
  static std::size_t bytes_of(const detail::ScatterCall& call, std::size_t rank, std::size_t size) {
    return rank == call.root ? given(call.parts, size) * call.element_size : 0;
  }
  static std::size_t bytes_of(const detail::AlltoallCall& call, std::size_t, std::size_t size) {
    return given(call.from, size) * call.element_size;
  }
  static std::size_t given(const detail::Parts& parts, std::size_t size) {
    std::size_t count = 0;
    for (std::size_t rank = 0; rank < size; ++rank) count += parts.count(rank);
    return count;
  }

  template <class Call>
  void execute(const detail::OperationRecord& record, const Call& call) const {
    const auto begin = Clock::now();
    comm().conduct(record, call);
    watch_.report(to_string(record.operation), bytes_of(call, rank(), size()), begin);
  }

  std::optional<C> own_;
  const C* original_ = nullptr;  // null where it is our own
  detail::Watch<Observer> watch_;
};

/// An observer that adds up: how often, how much, how long.
class OperationStatistics {
 public:
  struct Total {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
    std::chrono::nanoseconds time{};
  };

  void operator()(const ObservedOperation& operation) noexcept {
    total_.calls += 1;
    total_.bytes += operation.bytes;
    total_.time += operation.time;
  }

  [[nodiscard]] const Total& total() const noexcept { return total_; }

 private:
  Total total_;
};

}  // namespace cobre::comm
