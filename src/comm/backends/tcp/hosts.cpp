#include "comm/backends/tcp/hosts.hpp"

#include <algorithm>
#include <bit>

#include "comm/core/waiting_cpus.hpp"

namespace cobre::comm::tcp {

Hosts find_hosts(std::span<const Member> members, std::size_t rank) {
  Hosts hosts;
  std::vector<topology::PlacementRecord> records;
  for (const Member& member : members) records.push_back(member.placement);
  hosts.placements = topology::placements_of(records);
  std::vector<Bytes32> known;
  bool everyone_shares = true;
  for (const Member& member : members) {
    const auto place = std::ranges::find(known, member.host) - known.begin();
    if (static_cast<std::size_t>(place) == known.size()) {
      known.push_back(member.host);
      hosts.list.push_back({member.host_name.words(), {}});
      if (hosts.list.back().hostname.empty()) hosts.list.back().hostname = "unknown";
    }
    hosts.host_of.push_back(static_cast<std::size_t>(place));
    hosts.list[hosts.host_of.back()].ranks.push_back(member.rank);
    everyone_shares = everyone_shares && member.shares_memory != 0;
  }
  // As many as the shm backend can take in. All decide from the same table, so all decide alike.
  constexpr std::size_t most_that_share = 128;
  const bool too_many =
      std::ranges::any_of(hosts.list, [](const HostInfo& host) { return host.ranks.size() > most_that_share; });
  hosts.own = hosts.host_of[rank];
  hosts.place = hosts.place_of(rank);
  const auto& neighbours = hosts.neighbours();

  core::CpuMask cpus{};
  std::uint64_t quota = members[rank].cpu_quota;
  for (const std::size_t neighbour : neighbours) {
    for (std::size_t i = 0; i < cpus.size(); ++i) cpus[i] |= members[neighbour].cpus[i];
    quota = std::min(quota, members[neighbour].cpu_quota);
    hosts.all_share = hosts.all_share && members[neighbour].shares_memory != 0;
  }
  hosts.cpus = std::min<std::size_t>(core::count(cpus), quota);

  hosts.all_share = hosts.all_share && !too_many;

  hosts.one_speaks = everyone_shares && !too_many && hosts.list.size() < members.size();
  const std::size_t step = hosts.list.front().ranks.size();
  const bool regular =
      hosts.one_speaks && std::has_single_bit(step) &&
      std::ranges::all_of(members, [&](const Member& one) { return hosts.host_of[one.rank] == one.rank / step; });
  hosts.step = regular ? step : 1;
  return hosts;
}

}  // namespace cobre::comm::tcp
