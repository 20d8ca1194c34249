// Memory that the ranks of a node share, and the form that it takes where nothing is shared.
#pragma once

#include <cobre/comm/base/element_type.hpp>
#include <cobre/comm/errors.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace detail

/// The region of a backend that shares nothing: each rank has its own and is its own leader.
template <CommData T>
class HeapRegion {
 public:
  HeapRegion(const Where& where, std::size_t count, const RegionOptions& options)
      : block_(where, detail::region_bytes(where, count, sizeof(T)), options), count_(count) {
    // Fresh pages are zero bytes already; only a type whose default is something else needs to be written.
    if constexpr (!std::is_trivially_default_constructible_v<T>) {
      std::uninitialized_value_construct_n(static_cast<T*>(block_.data()), count);
    }
  }

  HeapRegion(HeapRegion&& other) noexcept : block_(std::move(other.block_)), count_(std::exchange(other.count_, 0)) {}
  HeapRegion& operator=(HeapRegion&& other) noexcept {
    block_ = std::move(other.block_);
    std::swap(count_, other.count_);
    return *this;
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::span<const T> as_span() const& noexcept { return {static_cast<const T*>(block_.data()), count_}; }
  [[nodiscard]] std::span<T> as_mut_span() & noexcept { return {static_cast<T*>(block_.data()), count_}; }
  std::span<const T> as_span() const&& = delete;  // a view of a region that dies with the expression

  /// The part that this rank fills where all ranks of a node fill a region together: here, all of it.
  [[nodiscard]] std::span<T> as_partition_span() & noexcept { return as_mut_span(); }

  /// Collective over the ranks that share the pages: here, this rank alone.
  void fence() const noexcept {}

 private:
  detail::PrivateBlock block_;
  std::size_t count_;
};

}  // namespace cobre::comm
