// Watching operations: a communicator that reports each collective of another one.
#pragma once

#include <cobre/comm/concepts.hpp>
#include <cobre/comm/detail/collectives.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cobre::comm {

/// One collective, as an observer sees it.
struct ObservedOperation {
  std::string_view name;            // "allreduce"
  std::size_t bytes = 0;            // that this rank gave into it
  std::chrono::nanoseconds time{};  // that this rank spent in it
};

/// Calls `observer(ObservedOperation)` after every collective that succeeded on this rank. Both referents must outlive
/// it. A communicator that is not wrapped pays nothing.
template <Communicator C, class Observer>
class Observed : public detail::Collectives<Observed<C, Observer>> {
 public:
  Observed(const C& comm, Observer& observer) noexcept : comm_(&comm), observer_(&observer) {}

  [[nodiscard]] std::size_t rank() const noexcept { return comm_->rank(); }
  [[nodiscard]] std::size_t size() const noexcept { return comm_->size(); }
  [[noreturn]] void abort(int code) const { comm_->abort(code); }

 private:
  friend class detail::Collectives<Observed>;

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
    const auto begin = std::chrono::steady_clock::now();
    comm_->conduct(record, call);
    const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin);
    (*observer_)(ObservedOperation{to_string(record.operation), bytes_of(call, rank(), size()), time});
  }

  const C* comm_;
  Observer* observer_;
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
