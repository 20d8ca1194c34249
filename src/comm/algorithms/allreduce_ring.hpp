// Allreduce round the ring (Patarasuk and Yuan, 2009), for long messages and reductions whose result does not depend on
// the order: a slice travels from rank to rank and each adds its own; then the results travel once more. Every rank
// speaks with two others only, however many there are. Each slice starts elsewhere, so this is never the canonical
// tree: only for what is exactly associative and commutative (is_exact).
//
//   steps 2 (n - 1)     bytes sent by a rank: 2 (n - 1)/n of the message
#pragma once

#include <cobre/comm/detail/blocks.hpp>

#include <span>

#include "comm/algorithms/reduction.hpp"
#include "comm/algorithms/ring_pass.hpp"
#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/transport.hpp"

namespace cobre::comm::algorithms {

template <Transport T>
void allreduce_ring(T& transport, const Reduction& reduction, std::size_t piece_bytes, Scratch& scratch) {
  const std::size_t ranks = transport.size();
  const std::size_t rank = transport.rank();
  const std::size_t next = (rank + 1) % ranks;
  const std::size_t previous = (rank + ranks - 1) % ranks;
  const std::size_t slice_elements = std::max<std::size_t>(piece_bytes / reduction.element_size(), 1);
  reduction.for_each_piece(reduction.bytes(slice_elements) * ranks, [&](std::size_t start, std::size_t elements) {
    const auto slice = [&](std::size_t index) { return detail::block_of(elements, index % ranks, ranks); };
    std::byte* const other = scratch.memory(reduction.bytes(slice(0).count));  // no slice is longer than the first
    for (std::size_t step = 0; step < ranks - 1; ++step) {
      const detail::Block out = slice(rank + ranks - step);
      const detail::Block in = slice(rank + ranks - step - 1);
      const std::byte* const sent =
          step == 0 ? reduction.input(start + out.start) : reduction.output(start + out.start);
      transport.exchange(next, sent, reduction.bytes(out.count), previous, other, reduction.bytes(in.count));
      reduction.fold(reduction.output(start + in.start), other, reduction.input(start + in.start), in.count);
    }
    // The slice that this rank finished last, and with which it starts, is that of the next rank.
    ring_pass(transport, [&](std::size_t r) {
      const detail::Block block = slice(r + 1);
      return std::span(reduction.output(start + block.start), reduction.bytes(block.count));
    });
  });
}

}  // namespace cobre::comm::algorithms
