#include "comm/topology/part.hpp"

#include <algorithm>

namespace cobre::comm::topology {

ExecutionTopology part_of(const ExecutionTopology& whole, std::span<const std::size_t> members) {
  ExecutionTopology part = whole;
  part.world_size = members.size();
  part.hosts.clear();
  part.placements.clear();
  std::vector<std::size_t> known;  // places in whole.hosts of what part.hosts holds
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const std::size_t host = whole.host_index_of(members[rank]);
    const auto place = std::ranges::find(known, host);
    const auto index = static_cast<std::size_t>(place - known.begin());
    if (place == known.end()) {
      known.push_back(host);
      part.hosts.push_back({host < whole.hosts.size() ? whole.hosts[host].hostname : "unknown", {}});
    }
    part.hosts[index].ranks.push_back(rank);
    if (members[rank] < whole.placements.size()) part.placements.push_back(whole.placements[members[rank]]);
  }
  return part;
}

}  // namespace cobre::comm::topology
