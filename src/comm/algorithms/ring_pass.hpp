// Every rank starts with one block; at the end everyone has all. Blocks travel round the ring of ranks, each rank
// passing on what came from behind. This is the second half of several algorithms.
//
//   steps n - 1     bytes sent by a rank: all blocks but that of the next rank
//
// Blocks that differ much are cut in pieces: a long one is passed on while it still arrives. The order of the pieces on
// each link is the same for both of its ends; which piece goes out while which comes in is each rank's own affair. That
// cannot deadlock, even where a message waits for its receiver: every call receives a message, until all are there.
// Were all ranks stuck in a call with only their sending half open, rank r, in its k-th call, would have sent at most k
// - 1 messages, and its successor, stuck having received as many as r sent, would be in an earlier call than r: all
// round the ring, which is impossible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

/// Blocks that are not cut.
inline constexpr std::size_t whole_blocks = std::numeric_limits<std::size_t>::max();

/// `block_of(rank)` says where, as a span of bytes, the block lies that starts at `rank`.
template <Transport T, class BlockOf>
void ring_pass(T& transport, const BlockOf& block_of, std::size_t piece_bytes = whole_blocks) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const std::size_t next = (rank + 1) % ranks;
  const std::size_t previous = (rank + ranks - 1) % ranks;

  // Walks over the pieces of the blocks that start at `from`, at the rank before it, and so on. An empty block is one
  // piece of no bytes, so that everyone hears from all.
  struct Walk {
    std::size_t rank;         // whose block
    std::size_t done;         // how much of it
    std::size_t blocks_left;  // with this one
    std::size_t passed = 0;   // blocks behind

    [[nodiscard]] bool over() const noexcept { return blocks_left == 0; }
  };
  const auto piece_at = [&](const Walk& walk) {
    const std::span<std::byte> block = block_of(walk.rank);
    return block.subspan(walk.done, std::min(piece_bytes, block.size() - walk.done));
  };
  const auto advance = [&](Walk& walk, std::size_t bytes) {
    walk.done += bytes;
    if (walk.done < block_of(walk.rank).size()) return;
    walk = {(walk.rank + ranks - 1) % ranks, 0, walk.blocks_left - 1, walk.passed + 1};
  };

  Walk out{rank, 0, ranks - 1};
  Walk in{previous, 0, ranks - 1};
  while (!out.over() || !in.over()) {
    // The first block that goes out is our own; the k-th after it is the k-th that comes in, whole or still coming.
    const bool sends = !out.over() && (out.passed <= in.passed || out.done < in.done);
    const bool receives = !in.over();
    const auto outgoing = sends ? piece_at(out) : std::span<std::byte>{};
    const auto incoming = receives ? piece_at(in) : std::span<std::byte>{};
    if (sends && receives) {
      transport.exchange(next, outgoing.data(), outgoing.size(), previous, incoming.data(), incoming.size());
    } else if (sends) {
      transport.send(next, outgoing.data(), outgoing.size());
    } else {
      transport.recv(previous, incoming.data(), incoming.size());
    }
    if (sends) advance(out, outgoing.size());
    if (receives) advance(in, incoming.size());
  }
}

}  // namespace cobre::comm::algorithms
