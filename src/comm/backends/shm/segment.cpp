#include "comm/backends/shm/segment.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "comm/backends/shm/mail_layout.hpp"

#include "comm/core/format.hpp"

namespace cobre::comm::shm {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t smallest_buffer = small_ring_bytes + 4 * page;
constexpr std::size_t largest_buffer = small_ring_bytes + (std::size_t{1} << 20);
constexpr std::size_t least_piece_bytes = 128;

constexpr std::size_t mail_share = 16;  // the part of the segment that messages between two ranks get: one in so many

constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page - 1) / page * page;
}

constexpr std::size_t mail_offset(std::size_t ranks) {
  return channel_offset + whole_pages(ChannelBlock::bytes(ranks));
}
std::size_t pipe_bytes(std::size_t segment_bytes, std::size_t ranks) noexcept {
  return std::bit_floor(std::clamp(segment_bytes / mail_share / (ranks * ranks), smallest_pipe, largest_pipe));
}
std::size_t buffer_offset(std::size_t segment_bytes, std::size_t ranks) noexcept {
  return mail_offset(ranks) + whole_pages(MailArea::bytes(ranks, pipe_bytes(segment_bytes, ranks)));
}

// What stands where, of the most that the segment may take.
void lay_out(Agreement& plan, std::size_t asked_bytes, std::size_t ranks) noexcept {
  plan.asked_bytes = asked_bytes;
  plan.mail_offset = mail_offset(ranks);
  plan.pipe_bytes = pipe_bytes(asked_bytes, ranks);
  plan.buffer_offset = buffer_offset(asked_bytes, ranks);
  const std::size_t share = (asked_bytes - plan.buffer_offset) / ranks / page * page;
  plan.buffer_bytes = std::min(share, largest_buffer);
  plan.segment_bytes = plan.buffer_offset + ranks * plan.buffer_bytes;
}

std::size_t largest_one_shot(const Agreement& plan) noexcept {
  return (plan.buffer_bytes - small_ring_bytes) / 4;
}

}  // namespace

// What messages get grows with the whole, so the least that is enough is found by trying.
std::size_t smallest_segment(std::size_t ranks) noexcept {
  for (std::size_t bytes = 0;;) {
    const std::size_t least = buffer_offset(bytes, ranks) + ranks * smallest_buffer;
    if (least <= bytes) return bytes;
    bytes = least;
  }
}

Agreement plan_segment(const ShmConfig& config, std::size_t cpus, bool asymmetric_fences) {
  const std::size_t ranks = config.size;
  Agreement plan{};
  const std::size_t least = smallest_segment(ranks);
  if (config.segment_bytes < least) {
    throw InvalidConfiguration("shm", "segment_bytes", std::to_string(config.segment_bytes),
                               core::format("at least {}, because {} ranks share it", least, ranks));
  }
  lay_out(plan, config.segment_bytes, ranks);
  plan.cpus = static_cast<std::uint32_t>(std::min<std::size_t>(cpus, 1U << 20));
  plan.asymmetric_fences = asymmetric_fences;
  plan.single_copy = config.single_copy == SingleCopy::Auto;

  const ShmTuning& tuning = config.tuning;
  const std::size_t peers = std::max<std::size_t>(1, ranks - 1);
  plan.one_shot_bytes =
      std::min<std::size_t>(tuning.one_shot_bytes.value_or((32U << 10) / peers), largest_one_shot(plan));
  // The kernel copies a page at a time, at a price for each: above all where caches are near it takes large messages to
  // make up for that, and in reductions, where the data must pass through a cache anyway, it never does.
  plan.exposed_bytes = tuning.exposed_bytes.value_or(64U << 10);
  plan.exchanged_bytes = tuning.exposed_bytes.value_or((256U << 10) + 1);
  plan.kernel_reduces = tuning.exposed_bytes.has_value();
  plan.piece_bytes = std::max<std::size_t>(
      tuning.piece_bytes.value_or(std::clamp<std::size_t>((512U << 10) / peers, 16U << 10, 128U << 10)),
      least_piece_bytes);
  return plan;
}

// Whoever maps it goes by these numbers without asking again.
bool is_laid_out(std::span<const std::byte> segment, std::size_t ranks) noexcept {
  if (segment.size() < sizeof(Agreement)) return false;
  // Before they are read as what they are: other values do not exist.
  for (const std::size_t flag : {offsetof(Agreement, asymmetric_fences), offsetof(Agreement, single_copy),
                                 offsetof(Agreement, kernel_reduces)}) {
    if (segment[flag] > std::byte{1}) return false;
  }
  Agreement told{};
  std::memcpy(&told, segment.data(), sizeof told);
  if (told.asked_bytes < smallest_segment(ranks)) return false;
  Agreement right{};
  lay_out(right, told.asked_bytes, ranks);
  return told.segment_bytes == segment.size() && told.segment_bytes == right.segment_bytes &&
         told.mail_offset == right.mail_offset && told.pipe_bytes == right.pipe_bytes &&
         told.buffer_offset == right.buffer_offset && told.buffer_bytes == right.buffer_bytes &&
         told.one_shot_bytes <= largest_one_shot(right) && told.piece_bytes >= least_piece_bytes;
}

}  // namespace cobre::comm::shm
