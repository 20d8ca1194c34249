// The arguments of every collective, as backends get them: checked, as bytes and tags.
#pragma once

#include <cobre/comm/detail/fold.hpp>
#include <cobre/comm/detail/operation.hpp>

#include <cstddef>
#include <cstring>
#include <exception>
#include <span>

namespace cobre::comm::detail {

struct BarrierCall {};

struct BroadcastCall {
  void* buffer;
  std::size_t bytes;
  std::size_t root;
  std::size_t element_size = 1;  // in which they are best moved
};

struct AllreduceCall {
  const void* send = nullptr;  // equal to recv where the operation is in place
  void* recv = nullptr;
  std::size_t count = 0;
  std::size_t element_size = 1;
  ElementType type = ElementType::Opaque;
  ReduceOp op{};                 // meaningless where there is a callable
  const Fold* custom = nullptr;  // the user's callable, or null
  Reproducible reproducible = Reproducible::Default;
  // What the callable threw, once it did. A backend that finds it set after the operation is broken: the result is
  // wrong on some ranks. The exception itself is rethrown above the gate.
  const std::exception_ptr* thrown = nullptr;

  [[nodiscard]] bool in_place() const noexcept { return send == recv; }
  [[nodiscard]] Fold fold() const noexcept { return custom != nullptr ? *custom : predefined_fold(op, type); }
};

struct AllgathervCall {
  const void* send;
  void* recv;
  std::span<const std::size_t> counts;  // in elements, as the displacements
  std::span<const std::size_t> displs;
  std::size_t element_size;
  bool in_place = false;  // `send` is this rank's segment of recv

  [[nodiscard]] std::size_t bytes_of(std::size_t rank) const noexcept { return counts[rank] * element_size; }
  [[nodiscard]] std::byte* place_of(std::size_t rank) const noexcept {
    return static_cast<std::byte*>(recv) + displs[rank] * element_size;
  }
  /// This rank's own part, unless it is in its place already.
  void copy_own(std::size_t rank) const noexcept {
    if (bytes_of(rank) > 0 && !in_place) std::memcpy(place_of(rank), send, bytes_of(rank));
  }
};

/// Where the parts of all ranks lie in one buffer, in elements: one block a rank, or as counts and displacements say.
class Parts {
 public:
  Parts() = default;  // that only another rank knows
  explicit Parts(std::size_t block) noexcept : block_(block), uniform_(true) {}
  Parts(std::span<const std::size_t> counts, std::span<const std::size_t> displs) noexcept
      : counts_(counts), displs_(displs) {}

  [[nodiscard]] bool uniform() const noexcept { return uniform_; }
  [[nodiscard]] std::size_t count(std::size_t rank) const noexcept { return uniform_ ? block_ : counts_[rank]; }
  [[nodiscard]] std::size_t displ(std::size_t rank) const noexcept { return uniform_ ? rank * block_ : displs_[rank]; }
  /// The elements of a buffer that holds them all.
  [[nodiscard]] std::size_t reach(std::size_t ranks) const noexcept {
    if (uniform_) return block_ * ranks;
    std::size_t end = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (counts_[rank] > 0 && displs_[rank] + counts_[rank] > end) end = displs_[rank] + counts_[rank];
    }
    return end;
  }
  // For who hands them on; empty where the parts are uniform.
  [[nodiscard]] std::span<const std::size_t> counts() const noexcept { return counts_; }
  [[nodiscard]] std::span<const std::size_t> displs() const noexcept { return displs_; }

 private:
  std::span<const std::size_t> counts_;
  std::span<const std::size_t> displs_;
  std::size_t block_ = 0;
  bool uniform_ = false;
};

/// Everyone's elements to the root. Off the root there is no recv, and its parts are known only where they are uniform.
struct GatherCall {
  const void* send;
  std::size_t count;
  void* recv;
  Parts parts;
  std::size_t element_size;
  std::size_t root;
};

/// The root's parts to everyone. Off the root there is no send, and its parts are known only where they are uniform.
struct ScatterCall {
  const void* send;
  Parts parts;
  void* recv;
  std::size_t count;
  std::size_t element_size;
  std::size_t root;
};

/// Part j of rank i becomes part i of rank j.
struct AlltoallCall {
  const void* send;
  Parts from;
  void* recv;
  Parts to;
  std::size_t element_size;
};

/// As an allreduce whose result only the root wants; elsewhere recv is null.
struct ReduceCall : AllreduceCall {
  std::size_t root = 0;
};

/// Rank r gets the fold of ranks 0 to r, without itself where it is exclusive: then rank 0 gets nothing.
struct ScanCall : AllreduceCall {
  bool exclusive = false;

  /// How many ranks, from 0 on, are folded for `rank`.
  [[nodiscard]] std::size_t sources(std::size_t rank) const noexcept { return exclusive ? rank : rank + 1; }
};

/// Rank r gets block r, of `count` elements, of the reduction; send holds one block a rank.
struct ReduceScatterCall : AllreduceCall {};

}  // namespace cobre::comm::detail
