// Reaching into the memory of another rank: through shared pages, through the common address space of threads, or with
// the kernel's help.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "comm/backends/shm/channel.hpp"
#include "comm/backends/shm/layout.hpp"
#include "comm/backends/shm/memory.hpp"
#include "comm/backends/shm/peers.hpp"

namespace cobre::comm::shm {

/// Where a buffer lies, as its owner tells it.
struct Place {
  Word address;          // in the owner's address space
  Word offset;           // within the region, if in one
  std::uint32_t region;  // its serial number, 0 for private memory
};

/// What a rank says of its buffers before a large operation.
struct Exposure {
  Word send;
  Word recv;
  Word send_offset;
  Word recv_offset;
  std::uint32_t send_region;
  std::uint32_t recv_region;
  Word live_regions;  // see Regions::live

  [[nodiscard]] Place send_place() const noexcept { return {send, send_offset, send_region}; }
  [[nodiscard]] Place recv_place() const noexcept { return {recv, recv_offset, recv_region}; }
};
static_assert(sizeof(Exposure) <= inline_bytes);

/// The regions that this rank has mapped, by serial number: all ranks create regions together, so they count alike.
class Regions {
 public:
  struct Region {
    Mapping readable;  // empty where one mapping serves both
    Mapping writable;
  };

  [[nodiscard]] std::uint32_t add(Region region);
  void remove(std::uint32_t serial) noexcept;

  /// Where these bytes lie, if inside a region.
  [[nodiscard]] Place locate(const void* begin, std::size_t bytes) const noexcept;
  [[nodiscard]] std::byte* base(std::uint32_t serial) const noexcept;

  /// One bit for each of the last 64 regions that were created: whether this rank still has it. Ranks let go of regions
  /// when they like, so what all of them can see is told anew with every exposure.
  [[nodiscard]] Word live() const noexcept;
  [[nodiscard]] bool in(Word live, std::uint32_t serial) const noexcept;

 private:
  mutable std::mutex mutex_;  // a region may be let go by another thread than the one inside an operation
  std::map<std::uint32_t, Region> regions_;
  std::uint32_t created_ = 0;
};

/// The time in which a rank may read memory that belongs to others, from before it exposes its own. Between processes a
/// buffer that its owner has given up is merely garbage to its reader; between threads it may be gone. So a rank that
/// leaves an operation by exception waits for the threads that may still read its buffers, which takes no longer than
/// they need to notice the verdict.
///
/// Dekker: the reader announces itself, then looks for a verdict; the one that leaves writes a verdict, then looks for
/// readers. All four are sequentially consistent, so at least one of the two sees the other.
class Reading {
 public:
  Reading(Channel& channel, const Peers& peers);
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading();

 private:
  Channel& channel_;
  const Peers& peers_;
  Word announced_;
  int exceptions_;
};

class Reach {
 public:
  Reach(Channel& channel, const Peers& peers, const Regions& regions) noexcept
      : channel_(channel), peers_(peers), regions_(regions) {}

  /// `bytes` of a peer's buffer, from `offset` on: in place where a pointer reaches it, otherwise copied to `scratch`.
  [[nodiscard]] const std::byte* view(std::size_t peer, Place place, std::size_t offset, std::size_t bytes,
                                      std::byte* scratch);
  void fetch(std::size_t peer, Place place, std::size_t offset, void* into, std::size_t bytes);
  /// The same without a word to anyone: 0, or why not.
  [[nodiscard]] int load(std::size_t peer, Place place, std::size_t offset, void* into, std::size_t bytes) noexcept;
  /// Only under a claim. False where the peer is dead.
  [[nodiscard]] bool store(std::size_t peer, Place place, std::size_t offset, const void* from,
                           std::size_t bytes) noexcept;

  /// Tries the kernel's help on one word that this rank should find at `address`.
  [[nodiscard]] bool kernel_helps(std::size_t peer, Word address, Word expected, Word writable_address) const noexcept;

 private:
  [[nodiscard]] std::byte* pointer(std::size_t peer, Place place) const noexcept;

  Channel& channel_;
  const Peers& peers_;
  const Regions& regions_;
};

}  // namespace cobre::comm::shm
