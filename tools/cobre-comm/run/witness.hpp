// What the launcher sees of the ranks' communicator.
#pragma once

#include <cobre/comm/config.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/algorithms/whereabouts.hpp"
#include "comm/core/descriptor.hpp"
#include "comm/core/ledger_file.hpp"
#ifdef COBRE_COMM_HAS_SHM
#include "comm/backends/shm/witness.hpp"
#endif
#ifdef COBRE_COMM_HAS_TCP
#include "comm/backends/tcp/ledger.hpp"
#endif

namespace cobre::command {

/// Ranks that share memory are seen through a socket of which rank 0 gets one end, once the group has gathered. Each
/// rank gets a file of ours: ranks that talk over the network keep a ledger there, and all of them what they are in
/// where that is a communicator made of others. A program that makes no communicator is simply not seen.
class GroupView {
 public:
  /// Of the ranks that are children here; the job may have others elsewhere.
  GroupView(std::size_t first_rank, std::size_t children, std::size_t job_ranks);

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
  /// Its number in the job. Nobody who is not of the job is named, whatever a dying rank has written.
  [[nodiscard]] std::optional<std::size_t> first_to_fail() const;

 private:
  [[nodiscard]] comm::algorithms::Sighting in_first_communicator(std::size_t child) const;
#ifdef COBRE_COMM_HAS_TCP
  [[nodiscard]] std::optional<std::size_t> blamed_by(std::size_t child) const;
#endif

  [[maybe_unused]] std::size_t first_rank_;  // of the children
  [[maybe_unused]] std::size_t job_ranks_;
  comm::core::Descriptor near_;
  comm::core::Descriptor far_;
#ifdef COBRE_COMM_HAS_SHM
  std::optional<comm::shm::Witness> seen_;
#endif
  struct Ledger {
    comm::core::Descriptor file;
    std::shared_ptr<const comm::core::LedgerFile> mapped;  // null where there is none: the rank is not seen
  };
  std::vector<Ledger> ledgers_;
};

}  // namespace cobre::command
