#include <cobre/comm/detail/preconditions.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::detail {
namespace {

constexpr std::size_t most_elements(std::size_t element_size) noexcept {
  return std::numeric_limits<std::ptrdiff_t>::max() / element_size;
}

using core::elements;

constexpr std::size_t saturating_sum(std::size_t a, std::size_t b) noexcept {
  return b > std::numeric_limits<std::size_t>::max() - a ? std::numeric_limits<std::size_t>::max() : a + b;
}

// What is thrown is made away from the checks, which every call passes.
[[noreturn, gnu::cold]] void throw_no_entry_per_rank(const Where& where, std::size_t actual, std::string_view what) {
  throw InvalidBufferSize(where, where.size, actual,
                          core::format("{} has {}, but there is one for each of the {} ranks; give it {}", what,
                                       elements(actual), where.size, elements(where.size)));
}

[[noreturn, gnu::cold]] void throw_too_short(const Where& where, const SegmentNames& names, std::size_t length,
                                             std::span<const std::size_t> counts, std::span<const std::size_t> displs,
                                             std::size_t last, std::size_t needed) {
  throw InvalidBufferSize(
      where, needed, length,
      core::format("{0} has {1}, but rank {2}'s segment of {3} from {4} on ends at {5}; make {0} at least that long",
                   names.buffer, elements(length), last, elements(counts[last]), displs[last], needed));
}

[[noreturn, gnu::cold]] void throw_other_count(const Where& where, std::string_view part, std::size_t length,
                                               std::string_view name, std::size_t count) {
  throw InvalidBufferSize(where, count, length,
                          core::format("{} has {}, but {}[{}] says {}; they must be equal", part, elements(length),
                                       name, where.rank, count));
}

inline void check_entry_per_rank(const Where& where, std::size_t actual, std::string_view what) {
  if (actual != where.size) [[unlikely]]
    throw_no_entry_per_rank(where, actual, what);
}

inline void check_count(const Where& where, std::string_view part, std::size_t length, std::string_view name,
                        std::span<const std::size_t> counts) {
  if (length != counts[where.rank]) [[unlikely]]
    throw_other_count(where, part, length, name, counts[where.rank]);
}

[[noreturn, gnu::cold]] void throw_segments_meet(const Where& where, const SegmentNames& names,
                                                 std::span<const std::size_t> counts,
                                                 std::span<const std::size_t> displs, std::size_t lower,
                                                 std::size_t upper) {
  const std::size_t end = displs[lower] + counts[lower];
  const std::size_t shared = std::min(end, displs[upper] + counts[upper]) - displs[upper];
  throw InvalidBufferSize(
      where, end, displs[upper],
      core::format("the segments of ranks {} and {} share {}: rank {} fills {}[{}, {}), rank {} starts at {}; move "
                   "{} so that no two segments overlap",
                   lower, upper, elements(shared), lower, names.buffer, displs[lower], end, upper, displs[upper],
                   names.displs));
}

// One count and one displacement a rank, every segment inside the buffer. Whether they lie in the order of the ranks
// and share nothing, as segments nearly always do: the pass that finds their end tells.
[[nodiscard]] inline bool check_inside(const Where& where, const SegmentNames& names, std::size_t length,
                                       std::span<const std::size_t> counts, std::span<const std::size_t> displs) {
  check_entry_per_rank(where, counts.size(), names.counts);
  check_entry_per_rank(where, displs.size(), names.displs);
  std::size_t needed = 0;
  std::size_t last = 0;
  bool in_order = true;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    // A part of nothing lies nowhere, wherever its displacement points.
    if (counts[rank] == 0) continue;
    const std::size_t end = saturating_sum(displs[rank], counts[rank]);
    in_order = in_order && displs[rank] >= needed;
    if (end > needed) {
      needed = end;
      last = rank;
    }
  }
  if (length < needed) [[unlikely]]
    throw_too_short(where, names, length, counts, displs, last, needed);
  return in_order;
}

// For segments that are not in rank order.
void check_disjoint(const Where& where, const SegmentNames& names, std::span<const std::size_t> counts,
                    std::span<const std::size_t> displs) {
  std::vector<std::size_t> by_place;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] > 0) by_place.push_back(rank);
  }
  std::ranges::sort(by_place, {}, [&](std::size_t rank) { return displs[rank]; });
  for (std::size_t i = 1; i < by_place.size(); ++i) {
    const std::size_t lower = by_place[i - 1];
    const std::size_t upper = by_place[i];
    if (displs[upper] < displs[lower] + counts[lower]) throw_segments_meet(where, names, counts, displs, lower, upper);
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

bool look_at_memory(const void* data, std::size_t count, std::size_t element_size) noexcept {
  if (count == 0) return true;
  return data != nullptr && count <= most_elements(element_size) && !is_on_device(data);
}

void throw_unusable(Where where, const void* data, std::size_t count, std::size_t element_size) {
  if (data == nullptr) {
    throw InvalidBufferSize(where, 0, count,
                            core::format("a buffer of {} has the address null; pass one that is allocated, or one of "
                                         "no elements",
                                         elements(count)));
  }
  if (const std::size_t most = most_elements(element_size); count > most) {
    throw InvalidBufferSize(where, most, count,
                            core::format("a buffer of {} of {} bytes is longer than any process can address; check how "
                                         "its length was computed",
                                         elements(count), element_size));
  }
  throw InvalidOperation(where, core::format("the {} bytes at {} lie in the memory of a GPU, which no backend reads; "
                                             "copy them to the host first (cudaMemcpy), or allocate them as managed "
                                             "memory",
                                             count * element_size, data));
}

void throw_no_room(Where where, std::size_t count, std::size_t element_size, std::size_t lacking) {
  const std::size_t bytes = count > std::numeric_limits<std::size_t>::max() / element_size
                                ? std::numeric_limits<std::size_t>::max()
                                : count * element_size;
  const std::string whom = lacking == where.rank ? "this rank" : core::format("rank {}", lacking);
  throw AllocationFailed(where, bytes,
                         core::format("the root sends {}, which {} has no room for", elements(count), whom));
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

void throw_wrong_blocks(Where where, std::string_view whole, std::size_t length, std::string_view block,
                        std::size_t block_length) {
  const bool overflow = block_length > std::numeric_limits<std::size_t>::max() / where.size;
  const std::size_t needed = overflow ? std::numeric_limits<std::size_t>::max() : block_length * where.size;
  throw InvalidBufferSize(
      where, needed, length,
      core::format("{} has {}, but holds one block of {} (as {} has) for each of the {} ranks; give it {}", whole,
                   elements(length), elements(block_length), block, where.size, elements(needed)));
}

void throw_not_divisible(Where where, std::size_t length) {
  const std::size_t next = saturating_sum(length, where.size - length % where.size);
  throw InvalidBufferSize(where, next, length,
                          core::format("send has {}, which {} ranks cannot share in equal blocks; give it {}, or use "
                                       "alltoallv",
                                       elements(length), where.size, elements(next)));
}

void throw_part_for_itself(Where where, std::size_t sent, std::size_t received) {
  throw InvalidBufferSize(where, sent, received,
                          core::format("sendcounts[{0}] says {1}, but recvcounts[{0}] says {2}; what a rank sends "
                                       "itself it also receives: make them equal",
                                       where.rank, sent, received));
}

void check_read_segments(Where where, const SegmentNames& names, std::size_t length,
                         std::span<const std::size_t> counts, std::span<const std::size_t> displs) {
  (void)check_inside(where, names, length, counts, displs);
}

void check_written_segments(Where where, const SegmentNames& names, std::size_t length,
                            std::span<const std::size_t> counts, std::span<const std::size_t> displs) {
  if (!check_inside(where, names, length, counts, displs)) check_disjoint(where, names, counts, displs);
}

void check_own_count(Where where, std::string_view part, std::size_t length, std::string_view name,
                     std::span<const std::size_t> counts) {
  check_count(where, part, length, name, counts);
}

void check_gathered_segments(Where where, std::size_t send, std::size_t recv, std::span<const std::size_t> counts,
                             std::span<const std::size_t> displs) {
  check_entry_per_rank(where, counts.size(), "counts");
  check_count(where, "send", send, "counts", counts);
  constexpr SegmentNames names{"recv", "counts", "displs"};
  if (!check_inside(where, names, recv, counts, displs)) [[unlikely]]
    check_disjoint(where, names, counts, displs);
}

void check_packed_parts(Where where, std::size_t send, std::span<const std::size_t> counts) {
  check_entry_per_rank(where, counts.size(), "counts");
  std::size_t total = 0;
  for (const std::size_t count : counts) total = saturating_sum(total, count);
  if (total == send) return;
  throw InvalidBufferSize(
      where, total, send,
      core::format("send has {}, but counts add up to {}; they must be equal", elements(send), total));
}

}  // namespace cobre::comm::detail
