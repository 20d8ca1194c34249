// Memory that the ranks of a node share, and the form that it takes where nothing is shared.
#pragma once

#include <cobre/comm/base/element_type.hpp>
#include <cobre/comm/detail/blocks.hpp>
#include <cobre/comm/errors.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace cobre::comm {

/// Wishes for a region's pages. What the machine does not have is left out, without an error.
struct RegionOptions {
  enum class Placement : std::uint8_t {
    FirstTouch,  // on the NUMA domain of the rank that writes a page first
    Interleave,  // spread over all domains, for tables that all ranks read
  };

  bool huge_pages = false;
  Placement placement = Placement::FirstTouch;
};

/// A region of T: the leader fills through as_mut_span(), all fence(), all read through as_span().
template <class R, class T>
concept SharedRegion =
    CommData<T> && std::movable<R> && !std::copy_constructible<R> && requires(const R& region, R& mutable_region) {
  { region.size() } -> std::same_as<std::size_t>;
  { region.as_span() } -> std::same_as<std::span<const T>>;
  { mutable_region.as_mut_span() } -> std::same_as<std::span<T>>;
  { region.fence() } -> std::same_as<void>;
};

namespace detail {

/// The bytes of `count` elements, or AllocationFailed where no machine could address them.
[[nodiscard]] std::size_t region_bytes(const Where& where, std::size_t count, std::size_t element_size);

/// Private memory, zero-filled, aligned to a cache line at least. Refused with AllocationFailed where the machine or
/// the memory limit of its container cannot hold it: the kernel would hand it out now and kill the process later.
class PrivateBlock {
 public:
  PrivateBlock() = default;
  PrivateBlock(const Where& where, std::size_t bytes, const RegionOptions& options);
  PrivateBlock(PrivateBlock&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PrivateBlock& operator=(PrivateBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~PrivateBlock();

  // Nobody else has it.
  [[nodiscard]] const void* readable() const noexcept { return data_; }
  [[nodiscard]] void* writable() const noexcept { return data_; }
  [[nodiscard]] bool leader() const noexcept { return true; }
  [[nodiscard]] std::size_t rank() const noexcept { return 0; }
  [[nodiscard]] std::size_t ranks() const noexcept { return 1; }
  void fence() const noexcept {}

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A region of T in the pages of a block: as this rank sees them, and which of the ranks that share them it is.
template <CommData T, class Block>
class BlockRegion {
 public:
  BlockRegion(Block block, std::size_t count) : block_(std::move(block)), count_(count) {
    // Fresh pages are zero bytes already; only a type whose default is something else needs to be written.
    if constexpr (!std::is_trivially_default_constructible_v<T>) {
      if (block_.leader()) std::uninitialized_value_construct_n(static_cast<T*>(block_.writable()), count_);
      block_.fence();
    }
  }
  BlockRegion(BlockRegion&& other) noexcept : block_(std::move(other.block_)), count_(std::exchange(other.count_, 0)) {}
  BlockRegion& operator=(BlockRegion&& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(count_, other.count_);
    return *this;
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::span<const T> as_span() const& noexcept {
    return {static_cast<const T*>(block_.readable()), count_};
  }
  std::span<const T> as_span() const&& = delete;  // a view of a region that dies with the expression

  /// The whole region on the leader, nothing on the others.
  [[nodiscard]] std::span<T> as_mut_span() & noexcept {
    if (!block_.leader()) return {};
    return {static_cast<T*>(block_.writable()), count_};
  }

  /// The part that this rank fills where all ranks of the node fill the region together: equal parts in rank order, the
  /// first ones longer by an element where the ranks do not divide the count.
  [[nodiscard]] std::span<T> as_partition_span() & noexcept {
    const auto part = block_of(count_, block_.rank(), block_.ranks());
    return {static_cast<T*>(block_.writable()) + part.start, part.count};
  }

  /// Collective over the ranks that share the pages. What any of them wrote before it is seen by all after it.
  void fence() const noexcept(noexcept(std::declval<const Block&>().fence())) { block_.fence(); }

 private:
  Block block_;
  std::size_t count_;
};

}  // namespace detail

/// The region of a backend that shares nothing: each rank has its own and is its own leader.
template <CommData T>
class HeapRegion : public detail::BlockRegion<T, detail::PrivateBlock> {
 public:
  HeapRegion(const Where& where, std::size_t count, const RegionOptions& options)
      : HeapRegion::BlockRegion({where, detail::region_bytes(where, count, sizeof(T)), options}, count) {}
};

}  // namespace cobre::comm
