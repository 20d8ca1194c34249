// Looking on from outside: whoever started a group may see what its ranks are in, for the line that says why the job
// ended. The ranks write nothing for it that they do not write anyway; rank 0 hands out a read-only view, once.
#pragma once

#include <cstddef>
#include <optional>

#include "comm/algorithms/whereabouts.hpp"
#include "comm/backends/shm/layout.hpp"
#include "comm/backends/shm/memory.hpp"
#include "comm/core/descriptor.hpp"

namespace cobre::comm::shm {

/// Lets the other end of `socket` look on. What becomes of it does not matter to the group.
void admit_witness(int socket, const core::Descriptor& memory, std::size_t bytes, std::size_t ranks) noexcept;

class Witness {
 public:
  /// The view that a group has sent, if it has.
  [[nodiscard]] static std::optional<Witness> receive(const core::Descriptor& socket);

  [[nodiscard]] std::size_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] algorithms::Sighting sighting(std::size_t rank) const;
  /// The rank with which it began, if the group has found that out.
  [[nodiscard]] std::optional<std::size_t> first_to_fail() const;

 private:
  Witness(Mapping segment, std::size_t ranks) : segment_(std::move(segment)), ranks_(ranks) {}
  [[nodiscard]] ChannelBlock& block() const noexcept;

  Mapping segment_;
  std::size_t ranks_;
};

}  // namespace cobre::comm::shm
