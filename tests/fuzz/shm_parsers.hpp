// Who reads an input of the shm fuzzer, by its first byte, and what the rest is made of. What is not zero is changed of
// that which an honest process sends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "comm/algorithms/part_notes.hpp"
#include "comm/backends/shm/layout.hpp"
#include "comm/backends/shm/messages.hpp"
#include "comm/backends/tcp/ledger.hpp"
#include "run/lookout_call.hpp"

namespace fuzz {

enum class Reader : std::uint8_t { Coordinator, Joiner, Witness, Launcher, Lookout };
inline constexpr std::uint8_t reader_count = static_cast<std::uint8_t>(Reader::Lookout) + 1;

inline constexpr std::size_t group_size = 3;

/// How much of a message comes.
enum class Cut : std::uint8_t { None, Shorter, Longer, NothingAtAll };
inline constexpr std::uint8_t cuts = static_cast<std::uint8_t>(Cut::NothingAtAll) + 1;

/// One that comes to rank 0, as rank 1, 2, 1, …
struct Visit {
  std::uint8_t cut = 0;
  std::uint8_t more_descriptors = 0;  // modulo 4: so many beside the one that belongs to it; 3: not even that one
  std::uint8_t leaves = 0;            // modulo 2: as soon as it has been answered
  std::array<std::uint8_t, sizeof(cobre::comm::shm::Hello)> change{};
};
inline constexpr std::size_t most_visits = 8;

/// What rank 0 hands over with an answer.
enum class Handed : std::uint8_t { WhatBelongsToIt, Nothing, SegmentAlone, NoMemoryFile, AnotherSize };
inline constexpr std::uint8_t handed_count = static_cast<std::uint8_t>(Handed::AnotherSize) + 1;

/// One that rank 0 gives to rank 1.
struct Answer {
  std::uint8_t welcomes = 0;  // modulo 2: the last one; else it only accepts
  std::uint8_t cut = 0;
  std::uint8_t handed = 0;
  std::uint8_t pages = 0;  // of another size
  std::array<std::uint8_t, sizeof(cobre::comm::shm::Agreement)> agreement{};
  std::array<std::uint8_t, sizeof(cobre::comm::shm::Reply)> change{};
};

/// What a launcher is let look at. The bytes that follow are written over the memory, at `painted_places`.
struct Glimpse {
  std::uint8_t cut = 0;
  std::uint8_t more_descriptors = 0;  // as above
  std::array<std::uint8_t, 32> change{};
};

/// Whose descriptor one hands to the lookout as that of its process.
enum class Whose : std::uint8_t { This, ItsOwnThatDied, NoProcess, NothingThatCanBeWaitedFor };
inline constexpr std::uint8_t whose_count = static_cast<std::uint8_t>(Whose::NothingThatCanBeWaitedFor) + 1;

/// One that calls the lookout, as rank 0, 1, 2, 0, …
struct Caller {
  std::uint8_t cut = 0;
  std::uint8_t more_descriptors = 0;  // as above
  std::uint8_t whose = 0;
  std::uint8_t then = 0;  // bit 0: says a word, as one that aborts; bit 1: hangs up
  std::array<std::uint8_t, sizeof(cobre::command::LookoutCall)> change{};
};
inline constexpr std::size_t most_callers = 6;

/// What of a rank's ledger is changed, for the launcher that reads it after the rank has died: first that on which the
/// most depends, last the records.
template <class Put>
void places_in_ledger(Put&& put) {
  using cobre::comm::algorithms::PartNote;
  using cobre::comm::algorithms::PartPage;
  using cobre::comm::core::LedgerFile;
  using cobre::comm::tcp::LedgerPage;
  put(0, offsetof(LedgerPage, journal));
  put(offsetof(LedgerPage, mail), sizeof(LedgerPage::mail));
  constexpr std::size_t parts = offsetof(LedgerFile, parts);
  put(parts, offsetof(PartPage, notes) + 2 * sizeof(PartNote));
  put(offsetof(LedgerPage, journal), sizeof(LedgerPage::journal));
}

/// Calls `put(offset, count)` for what the launcher reads of a channel's block, in the order of the input.
template <class Put>
void painted_places(Put&& put) {
  using namespace cobre::comm::shm;
  put(offsetof(Verdict, state), offsetof(Verdict, pid));
  for (std::size_t rank = 0; rank < group_size; ++rank) {
    const std::size_t block = sizeof(ChannelBlock) + rank * sizeof(RankBlock);
    put(block + offsetof(RankBlock, presence),
        offsetof(RankBlock, mail) + sizeof(RankBlock::mail) - offsetof(RankBlock, presence));
    put(block + offsetof(RankBlock, finished), sizeof(Word));
    put(block + offsetof(RankBlock, records) + (rank + 1) * sizeof(RecordLine), sizeof(RecordLine));
  }
}

}  // namespace fuzz
