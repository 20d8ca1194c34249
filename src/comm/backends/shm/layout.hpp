// What lies in shared memory, and who writes it. docs/shm-protocol.md tells how it is used.
//
// Every line has one writer, its rank, unless it says otherwise. Zero bytes are the initial state of everything. Pairs
// of 64-byte cache lines are fetched together by the processors that matter, hence 128.
#pragma once

#include <cobre/comm/detail/operation.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "comm/algorithms/mail_note.hpp"
#include "comm/backends/shm/bell.hpp"
#include "comm/core/crossing.hpp"
#include "comm/core/numbered_words.hpp"

namespace cobre::comm::shm {

using Word = std::uint64_t;
static_assert(std::atomic<Word>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free,
              "atomics must work between processes");

inline constexpr std::size_t line_bytes = 128;
inline constexpr std::size_t inline_bytes = 48;    // what a post carries beside its flag, in one 64-byte line
inline constexpr std::size_t post_depth = 16;      // operations that a root may run ahead of its slowest reader
inline constexpr std::size_t record_depth = 64;    // operations that are remembered for explaining a disagreement
inline constexpr std::size_t largest_group = 128;  // descriptors of all peers fit into one message

// Of each rank's buffer the first part is for small messages: they go round in what a first-level cache holds.
inline constexpr std::size_t small_ring_bytes = 8192;
inline constexpr std::size_t largest_small_message = 1024;

using RankSet = std::bitset<largest_group>;

/// "I am in operation `sequence`, and here is what I bring." Payload and flag arrive with one cache miss. The payload
/// stands first, so that any element type finds it aligned.
struct alignas(line_bytes) Post {
  std::array<std::byte, inline_bytes> payload;
  std::atomic<Word> chain;     // hash of all operations up to this one
  std::atomic<Word> sequence;  // written last
};
static_assert(offsetof(Post, sequence) == 56 && sizeof(Post) == line_bytes);

struct alignas(line_bytes) Counter {
  std::atomic<Word> value;
};

struct alignas(line_bytes) Finished {
  std::atomic<Word> sequence;              // written last
  std::array<std::atomic<Word>, 2> chain;  // of the last two, each at its parity: see Channel::leave()
};

static_assert(alignof(Bell) == line_bytes && sizeof(Bell) == line_bytes);

/// What a rank does, in full. Read only when something is wrong.
struct RecordCopy {
  detail::OperationRecord record;
  Word chain;
};
struct alignas(64) RecordLine : core::NumberedWords<sizeof(RecordCopy) / sizeof(Word)> {
  /// Nothing where the rank is in another operation, or just writes.
  [[nodiscard]] std::optional<RecordCopy> copy(Word sequence) const noexcept {
    const auto content = read(sequence);
    if (!content) return std::nullopt;
    return std::bit_cast<RecordCopy>(*content);
  }
};

enum class Presence : std::uint32_t { Here, Left };

struct RankBlock {
  std::array<Post, post_depth> posts;
  Finished finished;  // the last operation that this rank has left
  Counter filled;     // steps of many-step operations: what others may read is there …
  Counter drained;    // … and what this rank wanted to read has been read
  Counter claim;      // see claim.hpp; written by this rank and by the one that holds it
  Counter reading;    // odd while this rank reads memory that belongs to others
  Counter cpu;        // 1 + where this rank last waited for all, if ranks share cores; a hint, for it may have moved
  Bell bell;          // of those that sleep until this rank does something
  alignas(line_bytes) std::atomic<std::uint32_t> presence;
  std::atomic<std::uint32_t> blamed;  // 1 + the rank because of which this one left, where a message told it; 0: none
  std::atomic<Word> attached;         // how many operations it took to get here; 0 until then
  algorithms::MailNote mail;          // what it waits for in a call that sends or receives
  alignas(line_bytes) core::Aside aside;  // its requests and plans; written by whichever of its threads starts one
  std::array<RecordLine, record_depth> records;
};

enum class VerdictKind : std::uint32_t {
  None,
  PeerFailed,
  TimedOut,
  Mismatch,
  LengthMismatch,
  ReductionThrew,
  Interrupted
};

/// Why the group is finished. The first rank that finds a reason writes it here for all; later reasons are symptoms.
struct alignas(line_bytes) Verdict {
  std::atomic<Word> state;  // 0, then 2 * (rank + 1) while that rank writes, then 2 * (rank + 1) + 1

  VerdictKind kind;
  std::uint32_t subject;  // the rank that failed; in a mismatch one of each side
  std::uint32_t other;    // of lengths: the sender is the subject, and the counts of the records are what differs
  std::int32_t pid;
  std::int32_t signal;     // 0 where not known
  std::int32_t exit_code;  // -1 where not known
  double waited_seconds;
  RankSet ranks;  // missing, or differing
  detail::OperationRecord subject_record;
  detail::OperationRecord other_record;
};

/// The shared part of one communicator: a verdict, and a block for every rank behind it.
struct ChannelBlock {
  Verdict verdict;
  Counter warned;  // the last warning of a wait that was given: see Channel::may_warn(); written by any rank

  [[nodiscard]] RankBlock& rank(std::size_t rank) noexcept { return reinterpret_cast<RankBlock*>(this + 1)[rank]; }

  [[nodiscard]] static constexpr std::size_t bytes(std::size_t ranks) noexcept {
    return sizeof(ChannelBlock) + ranks * sizeof(RankBlock);
  }
};
static_assert(sizeof(ChannelBlock) % alignof(RankBlock) == 0);

/// What rank 0 decided for all, written before anyone else maps the segment.
struct Agreement {
  Word segment_bytes;
  Word asked_bytes;   // the most that the segment of a group may take, also of one that is split from this one
  Word buffer_bytes;  // of each rank: the small ring and the ring
  Word buffer_offset;
  Word mail_offset;  // see mail_layout.hpp
  Word pipe_bytes;
  Word one_shot_bytes;
  Word exposed_bytes;    // from here on what one rank gives to all is read where it lies …
  Word exchanged_bytes;  // … and what all give to all, unless other thresholds hold for it
  Word piece_bytes;
  std::uint32_t cpus;  // that the ranks have together
  bool asymmetric_fences;
  bool single_copy;     // wanted; whether it works is tried out
  bool kernel_reduces;  // values to be reduced are fetched by it as well
};

inline constexpr std::size_t channel_offset = 4096;
static_assert(sizeof(Agreement) <= channel_offset);

}  // namespace cobre::comm::shm
