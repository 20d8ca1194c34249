// What the launcher sees of the ranks' communicator.
#pragma once

#include <cobre/comm/config.hpp>

#include <cstddef>
#include <optional>
#include <string>

#include "comm/core/descriptor.hpp"
#ifdef COBRE_COMM_HAS_SHM
#include "comm/backends/shm/witness.hpp"
#endif

namespace cobre::command {

/// A socket of which rank 0 gets one end, and the view that comes through it once the group has gathered. A program
/// that makes no such communicator is simply not seen.
class GroupView {
 public:
  GroupView();

  [[nodiscard]] int for_rank_0() const noexcept { return far_.get(); }
  /// "NAME=value" for the environment of rank 0.
  [[nodiscard]] std::string variable() const;
  void let_go() noexcept { far_ = {}; }

  /// What to poll for a view; -1 once there will be none any more.
  [[nodiscard]] int descriptor() const noexcept { return near_.get(); }
  void take();

  [[nodiscard]] bool sees() const noexcept;
  /// "in barrier", or nothing where it is not known.
  [[nodiscard]] std::string whereabouts(std::size_t rank) const;
  [[nodiscard]] std::optional<std::size_t> first_to_fail() const;

 private:
  comm::core::Descriptor near_;
  comm::core::Descriptor far_;
#ifdef COBRE_COMM_HAS_SHM
  std::optional<comm::shm::Witness> seen_;
#endif
};

}  // namespace cobre::command
