// Who has a connection to whom from the start on, as a function of rank, size and hosts alone: everyone knows it of
// everyone.
#pragma once

#include <cstddef>
#include <optional>
#include <set>

#include "comm/backends/tcp/hosts.hpp"

namespace cobre::comm::tcp {

/// Whom one of several talks to in the patterns of logarithmic depth and in rings: all that a job needs until a message
/// is so large that everyone talks to everyone.
[[nodiscard]] inline std::set<std::size_t> usual_peers(std::size_t rank, std::size_t size) {
  std::set<std::size_t> peers;
  for (std::size_t distance = 1; distance < size; distance *= 2) {
    peers.insert((rank + distance) % size);
    peers.insert((rank + size - distance) % size);
    if ((rank ^ distance) < size) peers.insert(rank ^ distance);
  }
  peers.erase(rank);
  return peers;
}

/// The same of a rank of a job: between the first ranks of hosts that these speak for, and between all ranks where some
/// operations go from rank to rank.
[[nodiscard]] inline std::set<std::size_t> usual_peers(std::size_t rank, const Hosts& hosts) {
  std::set<std::size_t> peers;
  if (hosts.step == 1) peers = usual_peers(rank, hosts.host_of.size());
  if (!hosts.one_speaks || hosts.place_of(rank) != 0) return peers;
  for (const std::size_t host : usual_peers(hosts.host_of[rank], hosts.list.size())) {
    peers.insert(hosts.list[host].ranks.front());
  }
  return peers;
}

/// Whom its sentinel talks to: whom it would talk to if every rank was on the network, and the edges of the control
/// tree. A rank that knew nobody but the one that speaks for its host would be cut off when that one leaves.
[[nodiscard]] inline std::set<std::size_t> neighbours(std::size_t rank, std::size_t size) {
  std::set<std::size_t> peers = usual_peers(rank, size);
  if (rank != 0) peers.insert(rank & (rank - 1));
  for (std::size_t bit = 1; (rank & bit) == 0 && rank + bit < size; bit *= 2) peers.insert(rank + bit);
  return peers;
}

/// The next one towards the root of the control tree: rank i & (i - 1), or where that has left, the lowest neighbour
/// that has not. None for the root. Lower than the rank in any case, so that there is no way in a circle.
template <class HasLeft>
[[nodiscard]] std::optional<std::size_t> parent_of(std::size_t rank, std::size_t size, HasLeft&& has_left) {
  if (rank == 0) return std::nullopt;
  if (const std::size_t usual = rank & (rank - 1); !has_left(usual)) return usual;
  for (const std::size_t peer : neighbours(rank, size)) {
    if (peer < rank && !has_left(peer)) return peer;
  }
  return std::nullopt;
}

}  // namespace cobre::comm::tcp
