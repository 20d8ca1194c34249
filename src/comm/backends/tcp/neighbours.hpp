// Who has a connection to whom from the start on, as a function of rank and size alone: everyone knows it of everyone.
#pragma once

#include <cstddef>
#include <optional>
#include <set>

namespace cobre::comm::tcp {

/// Whom a rank talks to in the patterns of logarithmic depth and in rings: all that a job needs until a message is so
/// large that everyone talks to everyone. `step`: only every so-manieth rank is on the network.
[[nodiscard]] inline std::set<std::size_t> usual_peers(std::size_t rank, std::size_t size, std::size_t step) {
  std::set<std::size_t> peers;
  if (rank % step != 0) return peers;
  const std::size_t own = rank / step;
  const std::size_t count = (size + step - 1) / step;
  for (std::size_t distance = 1; distance < count; distance *= 2) {
    peers.insert((own + distance) % count * step);
    peers.insert((own + count - distance) % count * step);
    if ((own ^ distance) < count) peers.insert((own ^ distance) * step);
  }
  peers.erase(rank);
  return peers;
}

/// Whom its sentinel talks to: whom it would talk to if every rank was on the network, and the edges of the control
/// tree. A rank that knew nobody but the one that speaks for its host would be cut off when that one leaves.
[[nodiscard]] inline std::set<std::size_t> neighbours(std::size_t rank, std::size_t size) {
  std::set<std::size_t> peers = usual_peers(rank, size, 1);
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
