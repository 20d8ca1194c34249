// Numbers that all ranks of a node read: one copy a node where the communicator can share memory, else one a rank.
#pragma once

#include <cobre/comm/concepts.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace sddp {

template <class C>
class SharedArray {
 public:
  SharedArray(const C&, std::size_t count) : values_(count) {}
  [[nodiscard]] std::span<const double> read() const { return values_; }
  [[nodiscard]] std::span<double> write() { return values_; }
  void fence() const {}

 private:
  std::vector<double> values_;
};

template <cobre::comm::SharedMemoryProvider C>
class SharedArray<C> {
 public:
  /// Collective.
  SharedArray(const C& comm, std::size_t count) : region_(comm.template create_shared_region<double>(count)) {}

  [[nodiscard]] std::span<const double> read() const { return region_.as_span(); }
  /// Empty on a rank that only reads.
  [[nodiscard]] std::span<double> write() { return region_.as_mut_span(); }
  /// Collective. What was written before is read after.
  void fence() const { region_.fence(); }

 private:
  decltype(std::declval<const C&>().template create_shared_region<double>(0)) region_;
};

}  // namespace sddp
