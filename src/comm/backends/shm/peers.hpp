// The processes behind the other ranks: whether they live, and what became of those that do not.
#pragma once

#include <cobre/comm/errors.hpp>

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/backends/shm/layout.hpp"
#include "comm/core/descriptor.hpp"

namespace cobre::comm::shm {

/// Which process, on this machine, at this time.
struct ProcessIdentity {
  std::int32_t pid = 0;  // in its own namespace
  std::uint32_t reserved = 0;
  std::uint64_t pid_namespace = 0;

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};
[[nodiscard]] ProcessIdentity this_process();
/// None where this process does not see it.
[[nodiscard]] core::Descriptor open_process(pid_t pid);

struct Peer {
  pid_t pid = 0;             // as this process sees it; 0 where it does not
  bool same_process = true;  // a thread of this one, or this rank itself
};

class Peers {
 public:
  /// `processes[i]` is a descriptor of the process in which the ranks with `process_of[rank] == i` run; ranks of this
  /// very process have no entry.
  static constexpr std::size_t this_one = ~std::size_t{0};
  Peers(std::vector<core::Descriptor> processes, std::vector<std::size_t> process_of);

  /// Some of them, as ranks 0, 1, … in this order. Watches the same descriptors.
  [[nodiscard]] Peers part(std::span<const std::size_t> members) const;

  [[nodiscard]] std::size_t size() const noexcept { return peers_.size(); }
  [[nodiscard]] const Peer& operator[](std::size_t rank) const noexcept { return peers_[rank]; }

  /// The ranks whose process has ended. One system call.
  [[nodiscard]] RankSet dead() const noexcept;
  [[nodiscard]] bool all_in_this_process() const noexcept { return processes_.empty(); }
  [[nodiscard]] bool alive(std::size_t rank) const noexcept;

  /// What is known of the end of a dead rank: its parent may have taken the rest away already.
  [[nodiscard]] FailedPeer obituary(std::size_t rank) const;

  /// To every other process of the group.
  void signal_all(int signal) const noexcept;

 private:
  Peers() = default;

  std::vector<std::shared_ptr<const core::Descriptor>> processes_;
  std::vector<std::size_t> process_of_;
  std::vector<Peer> peers_;
};

}  // namespace cobre::comm::shm
