#include "comm/backends/shm/segment.hpp"

#include <algorithm>

#include "comm/core/format.hpp"

namespace cobre::comm::shm {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t smallest_buffer = small_ring_bytes + 4 * page;
constexpr std::size_t largest_buffer = small_ring_bytes + (std::size_t{1} << 20);

constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page - 1) / page * page;
}

}  // namespace

Agreement plan_segment(const ShmConfig& config, std::size_t cpus, bool asymmetric_fences) {
  const std::size_t ranks = config.size;
  Agreement plan{};
  plan.buffer_offset = channel_offset + whole_pages(ChannelBlock::bytes(ranks));
  const std::size_t least = plan.buffer_offset + ranks * smallest_buffer;
  if (config.segment_bytes < least) {
    throw InitializationFailed(
        "shm", core::format("segment_bytes is {}, but {} ranks need at least {}", config.segment_bytes, ranks, least));
  }
  const std::size_t share = (config.segment_bytes - plan.buffer_offset) / ranks / page * page;
  plan.buffer_bytes = std::min(share, largest_buffer);
  plan.segment_bytes = plan.buffer_offset + ranks * plan.buffer_bytes;
  plan.cpus = static_cast<std::uint32_t>(std::min<std::size_t>(cpus, 1U << 20));
  plan.asymmetric_fences = asymmetric_fences;
  plan.single_copy = config.single_copy == SingleCopy::Auto;

  const ShmTuning& tuning = config.tuning;
  const std::size_t peers = std::max<std::size_t>(1, ranks - 1);
  plan.one_shot_bytes = std::min<std::size_t>(tuning.one_shot_bytes.value_or((32U << 10) / peers),
                                              (plan.buffer_bytes - small_ring_bytes) / 4);
  // The kernel copies a page at a time, at a price for each: above all where caches are near it takes large messages to
  // make up for that, and in reductions, where the data must pass through a cache anyway, it never does.
  plan.exposed_bytes = tuning.exposed_bytes.value_or(64U << 10);
  plan.exchanged_bytes = tuning.exposed_bytes.value_or((256U << 10) + 1);
  plan.kernel_reduces = tuning.exposed_bytes.has_value();
  plan.piece_bytes = std::max<std::size_t>(
      tuning.piece_bytes.value_or(std::clamp<std::size_t>((512U << 10) / peers, 16U << 10, 128U << 10)), 128);
  return plan;
}

}  // namespace cobre::comm::shm
