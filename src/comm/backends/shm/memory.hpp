// Shared pages: made without a name, reserved in full before anyone touches them, and mapped.
#pragma once

#include <cobre/comm/errors.hpp>
#include <cobre/comm/region.hpp>

#include <cstddef>
#include <memory>
#include <string>

#include "comm/core/descriptor.hpp"

namespace cobre::comm::shm {

/// A memory file of exactly these bytes, all of them there and zero, that can neither shrink nor grow: reading or
/// writing a mapping of it never faults. Throws AllocationFailed where the machine or the container cannot hold it.
[[nodiscard]] core::Descriptor create_memory(const Where& where, std::size_t bytes, const RegionOptions& options = {});

/// What an AllocationFailed says behind its numbers, so that every rank can say the same.
[[nodiscard]] std::string reason_in(const AllocationFailed& error);

enum class Access { Read, ReadWrite };

/// A memory file in this process's address space. Ranks that are threads of one process share one mapping of each file:
/// one address for one thing, for pointers and for tools that watch memory accesses.
class Mapping {
 public:
  Mapping() = default;
  /// Throws AllocationFailed where there is no address space, or the descriptor is something else.
  Mapping(const Where& where, const core::Descriptor& memory, std::size_t bytes, Access access);

  [[nodiscard]] std::byte* data() const noexcept { return pages_ ? pages_->address : nullptr; }
  [[nodiscard]] std::size_t bytes() const noexcept { return pages_ ? pages_->bytes : 0; }
  /// Something in it, which stays mapped for as long as anybody has this.
  template <class T>
  [[nodiscard]] std::shared_ptr<T> share(T& inside) const noexcept {
    return {pages_, &inside};
  }
  /// A forked child gets no copy of it.
  void keep_from_children() const noexcept;
  /// Lets go without unmapping: in a forked child there is nothing to unmap.
  void forget() noexcept {
    if (pages_) pages_->address = nullptr;
  }

 private:
  struct Pages {
    Pages(std::byte* mapped, std::size_t length) noexcept : address(mapped), bytes(length) {}
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages();
    std::byte* address;
    std::size_t bytes;
  };
  class Registry;

  std::shared_ptr<Pages> pages_;  // null where there are no bytes
};

}  // namespace cobre::comm::shm
