// What the launcher sees of the ranks' communicator.
#pragma once

#include <cobre/comm/config.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "comm/core/descriptor.hpp"
#ifdef COBRE_COMM_HAS_SHM
#include "comm/backends/shm/witness.hpp"
#endif
#ifdef COBRE_COMM_HAS_TCP
#include "comm/backends/tcp/ledger.hpp"
#endif

namespace cobre::command {

/// Ranks that share memory are seen through a socket of which rank 0 gets one end, once the group has gathered; ranks
/// that talk over the network each keep a ledger in a file of ours. A program that makes no communicator is simply not
/// seen.
class GroupView {
 public:
  /// `ledgers` for so many children.
  explicit GroupView(std::size_t ledgers);

  /// A descriptor that a rank inherits, and the "NAME=value" that tells it so.
  struct Handed {
    int descriptor;
    std::string variable;
  };
  [[nodiscard]] std::optional<Handed> for_rank_0() const;
  [[nodiscard]] std::optional<Handed> ledger(std::size_t child) const;
  void let_go() noexcept { far_ = {}; }

  /// What to poll for a view; -1 once there will be none any more.
  [[nodiscard]] int descriptor() const noexcept { return near_.get(); }
  void take();

  [[nodiscard]] bool sees() const noexcept;
  /// "in barrier", or nothing where it is not known.
  [[nodiscard]] std::string whereabouts(std::size_t child) const;
  /// Its number in the job.
  [[nodiscard]] std::optional<std::size_t> first_to_fail() const;

 private:
  comm::core::Descriptor near_;
  comm::core::Descriptor far_;
#ifdef COBRE_COMM_HAS_SHM
  std::optional<comm::shm::Witness> seen_;
#endif
#ifdef COBRE_COMM_HAS_TCP
  std::vector<comm::tcp::LedgerView> ledgers_;
#endif
};

}  // namespace cobre::command
