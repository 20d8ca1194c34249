// Which ranks share a machine, and whether the machines can work as one rank each.
#pragma once

#include <cobre/comm/topology.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "comm/backends/tcp/messages.hpp"

namespace cobre::comm::tcp {

struct Hosts {
  std::vector<HostInfo> list;             // by first rank
  std::vector<RankPlacement> placements;  // by rank
  std::vector<std::size_t> host_of;       // by rank
  std::size_t own = 0;                    // the one of this rank
  std::size_t place = 0;                  // of this rank among the ranks of its host
  std::size_t cpus = 1;                   // that the ranks of this host have together
  bool all_share = true;                  // no rank of this host refuses to share memory
  /// Whether what has no order to keep goes through the memory of each host, and between the first ranks of the hosts.
  bool one_speaks = false;
  /// The number of ranks a host where the hosts form whole branches of the canonical tree: rank i is on host i / step,
  /// and step is a power of two. 1 where they do not; then reductions go from rank to rank.
  std::size_t step = 1;

  [[nodiscard]] const std::vector<std::size_t>& neighbours() const noexcept { return list[own].ranks; }
  [[nodiscard]] std::size_t place_of(std::size_t rank) const noexcept {
    const auto& ranks = list[host_of[rank]].ranks;
    return static_cast<std::size_t>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
  }
};

[[nodiscard]] Hosts find_hosts(std::span<const Member> members, std::size_t rank);

}  // namespace cobre::comm::tcp
