#include <cobre/comm/detail/preconditions.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::detail {
namespace {

using core::elements;

constexpr std::size_t saturating_sum(std::size_t a, std::size_t b) noexcept {
  return b > std::numeric_limits<std::size_t>::max() - a ? std::numeric_limits<std::size_t>::max() : a + b;
}

void check_entry_per_rank(const Where& where, std::size_t actual, std::string_view what) {
  if (actual == where.size) return;
  throw InvalidBufferSize(where, where.size, actual,
                          core::format("{} has {}, but there is one for each of the {} ranks; give it {}", what,
                                       elements(actual), where.size, elements(where.size)));
}

[[noreturn]] void throw_segments_meet(const Where& where, std::span<const std::size_t> counts,
                                      std::span<const std::size_t> displs, std::size_t lower, std::size_t upper) {
  const std::size_t end = displs[lower] + counts[lower];
  const std::size_t shared = std::min(end, displs[upper] + counts[upper]) - displs[upper];
  throw InvalidBufferSize(
      where, end, displs[upper],
      core::format("the segments of ranks {} and {} share {}: rank {} fills recv[{}, {}), rank {} starts at {}; move "
                   "displs so that no two segments overlap",
                   lower, upper, elements(shared), lower, displs[lower], end, upper, displs[upper]));
}

// For segments that are not in rank order.
void check_disjoint(const Where& where, std::span<const std::size_t> counts, std::span<const std::size_t> displs) {
  std::vector<std::size_t> by_place;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] > 0) by_place.push_back(rank);
  }
  std::ranges::sort(by_place, {}, [&](std::size_t rank) { return displs[rank]; });
  for (std::size_t i = 1; i < by_place.size(); ++i) {
    const std::size_t lower = by_place[i - 1];
    const std::size_t upper = by_place[i];
    if (displs[upper] < displs[lower] + counts[lower]) throw_segments_meet(where, counts, displs, lower, upper);
  }
}

}  // namespace

void throw_invalid_root(Where where, std::size_t root) {
  throw InvalidRoot(where, root);
}

void throw_undefined(Where where, ReduceOp op, ElementType type) {
  throw InvalidOperation(where, op, type);
}

void throw_not_contiguous(Where where) {
  throw InvalidOperation(where,
                         "a buffer's elements do not lie one behind the other (a block or a strided view); copy "
                         "it into a contiguous one first");
}

void throw_no_room(Where where, std::size_t count, std::size_t element_size) {
  const std::size_t bytes = count > std::numeric_limits<std::size_t>::max() / element_size
                                ? std::numeric_limits<std::size_t>::max()
                                : count * element_size;
  throw AllocationFailed(where, bytes,
                         core::format("the root sends {}, which this rank has no room for", elements(count)));
}

void throw_different_lengths(Where where, std::size_t send, std::size_t recv) {
  throw InvalidBufferSize(
      where, send, recv,
      core::format("send has {}, but recv has {}; make them equally long", elements(send), elements(recv)));
}

void throw_overlap(Where where, std::size_t overlapping_bytes, std::size_t element_size) {
  const std::size_t shared = (overlapping_bytes + element_size - 1) / element_size;
  throw InvalidBufferSize(where, 0, shared,
                          core::format("send and recv share {}; use separate buffers{}", elements(shared),
                                       where.operation == "allreduce" ? " or allreduce_inplace" : ""));
}

void check_gathered_segments(Where where, std::size_t send, std::size_t recv, std::span<const std::size_t> counts,
                             std::span<const std::size_t> displs) {
  check_entry_per_rank(where, counts.size(), "counts");
  check_entry_per_rank(where, displs.size(), "displs");
  if (send != counts[where.rank]) {
    throw InvalidBufferSize(where, counts[where.rank], send,
                            core::format("send has {}, but counts[{}] says {}; they must be equal", elements(send),
                                         where.rank, counts[where.rank]));
  }
  std::size_t needed = 0;
  std::size_t last = 0;
  // Segments are nearly always in rank order: the pass that finds their end tells. Only where they are not is an order
  // worked out.
  bool in_order = true;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    // A rank that sends nothing fills nothing, wherever its displacement points.
    if (counts[rank] == 0) continue;
    const std::size_t end = saturating_sum(displs[rank], counts[rank]);
    in_order = in_order && displs[rank] >= needed;
    if (end > needed) {
      needed = end;
      last = rank;
    }
  }
  if (recv < needed) {
    throw InvalidBufferSize(where, needed, recv,
                            core::format("recv has {}, but rank {}'s segment of {} from {} on ends at {}; make recv at "
                                         "least that long",
                                         elements(recv), last, elements(counts[last]), displs[last], needed));
  }
  if (!in_order) check_disjoint(where, counts, displs);
}

}  // namespace cobre::comm::detail
