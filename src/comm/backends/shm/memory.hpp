// Shared pages: made without a name, reserved in full before anyone touches them, and mapped.
#pragma once

#include <cobre/comm/errors.hpp>
#include <cobre/comm/region.hpp>

#include <cstddef>
#include <utility>

#include "comm/core/descriptor.hpp"

namespace cobre::comm::shm {

/// A memory file of exactly these bytes, all of them there and zero, that can neither shrink nor grow: reading or
/// writing a mapping of it never faults. Throws AllocationFailed where the machine or the container cannot hold it.
[[nodiscard]] core::Descriptor create_memory(const Where& where, std::size_t bytes, const RegionOptions& options = {});

enum class Access { Read, ReadWrite };

class Mapping {
 public:
  Mapping() = default;
  /// Throws AllocationFailed where there is no address space, or the descriptor is something else.
  Mapping(const Where& where, const core::Descriptor& memory, std::size_t bytes, Access access);
  Mapping(Mapping&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(address_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// A forked child gets no copy of it.
  void keep_from_children() const noexcept;
  /// Lets go without unmapping: in a forked child there is nothing to unmap.
  void forget() noexcept { address_ = nullptr; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace cobre::comm::shm
