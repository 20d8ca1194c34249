// What stands between an observer and the communicators, regions and nodes that report to it.
#pragma once

#include <cobre/comm/base/element_type.hpp>
#include <cobre/comm/detail/calls.hpp>
#include <cobre/comm/local_communicator.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace cobre::comm {

/// One collective, as an observer sees it.
struct ObservedOperation {
  std::string_view name;            // "allreduce"
  std::size_t bytes = 0;            // that this rank gave into it
  std::chrono::nanoseconds time{};  // that this rank spent in it
};

namespace detail {

/// The way to one observer, which is called by one thread at a time. Only ever copied: what was moved from keeps it.
template <class Observer>
class Watch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Watch(Observer& observer) : shared_(std::make_shared<Shared>(observer)) {}
  Watch(const Watch&) = default;
  Watch& operator=(const Watch&) = default;
  ~Watch() = default;

  void report(std::string_view name, std::size_t bytes, Clock::time_point begin) const {
    const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
    const std::lock_guard lock(shared_->mutex);
    shared_->observer(ObservedOperation{name, bytes, time});
  }

 private:
  struct Shared {
    explicit Shared(Observer& watching) : observer(watching) {}
    std::mutex mutex;  // parts of a communicator, and what goes on by itself, may be on other threads
    Observer& observer;
  };
  std::shared_ptr<Shared> shared_;
};

/// A region whose fences are reported.
template <class Region, class Observer>
class WatchedRegion {
 public:
  WatchedRegion(Region region, const Watch<Observer>& watch) : region_(std::move(region)), watch_(watch) {}

  [[nodiscard]] std::size_t size() const { return region_.size(); }
  [[nodiscard]] auto as_span() const& { return region_.as_span(); }
  void as_span() const&& = delete;  // a view of a region that dies with the expression
  [[nodiscard]] auto as_mut_span() & { return region_.as_mut_span(); }
  [[nodiscard]] auto as_partition_span() & { return region_.as_partition_span(); }

  /// Collective over the ranks that share the pages.
  void fence() const {
    const auto begin = Watch<Observer>::Clock::now();
    region_.fence();
    watch_.report(to_string(Operation::Fence), 0, begin);
  }

 private:
  Region region_;
  Watch<Observer> watch_;
};

/// The ranks of a node, whose barriers are reported.
template <class Observer>
class WatchedNode final : public LocalCommunicator {
 public:
  WatchedNode(std::unique_ptr<LocalCommunicator> node, const Watch<Observer>& watch)
      : node_(std::move(node)), watch_(watch) {}

  [[nodiscard]] std::size_t rank() const noexcept override { return node_->rank(); }
  [[nodiscard]] std::size_t size() const noexcept override { return node_->size(); }
  void barrier() const override {
    const auto begin = Watch<Observer>::Clock::now();
    node_->barrier();
    watch_.report(to_string(Operation::Barrier), 0, begin);
  }

 private:
  std::unique_ptr<LocalCommunicator> node_;
  Watch<Observer> watch_;
};

}  // namespace detail
}  // namespace cobre::comm
