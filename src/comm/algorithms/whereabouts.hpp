// Where a rank is, in words, for whoever started it: from what it noted in all of its communicators. It may have died
// in the middle of a note, or written all over them.
#pragma once

#include <cstdint>
#include <string>

#include "comm/algorithms/part_notes.hpp"

namespace cobre::comm::algorithms {

/// In the job's first communicator.
struct Sighting {
  enum class Kind : std::uint8_t { Unknown, Gathering, In, Between, Gone };
  Kind kind = Kind::Unknown;
  std::string words;       // "in barrier", "after barrier", "before its first operation"
  std::uint64_t left = 0;  // operations that are over
};

/// In all of them. What is under way counts, wherever; else what was the last; where that is not known for sure, what
/// it may have been.
[[nodiscard]] std::string whereabouts(const Sighting& first, const core::LedgerFile& file);

}  // namespace cobre::comm::algorithms
