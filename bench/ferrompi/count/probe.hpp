// What the traced program and its tracer agree on.
#pragma once

#include <cstdint>

namespace probe {

inline constexpr int ranks = 4;  // of the world that the stand-in pretends

/// Calls of the stand-in, and of the allocator, since the program began.
extern unsigned long mpi_calls;
extern unsigned long allocations;

enum class Kind : std::uint8_t {
  Fixed,    // lengths are known at compile time
  RunTime,  // lengths are known at run time, so there must be a way for those beyond an int
  Counts,   // a count for each rank: checking them takes longer with every rank
  Window,   // a window knows which epoch is open, with and without the checks of arguments
  Request,  // a request also knows what it owns, how it ends when it is dropped, and its status for later
};

/// What the program writes to its standard output: first one record with the address at which a count ends, then one
/// for each region that was counted, in order.
struct Record {
  char operation[48];
  char side[8];  // "plain", "ours", or "none" for an empty region
  std::uint64_t end_address;
  std::uint64_t mpi_calls;
  std::uint64_t allocations;
  Kind kind;
};

}  // namespace probe
