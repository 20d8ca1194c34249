// What is planted into the reference backend.
#pragma once

#include <chrono>

namespace conformance {

/// One thing that a backend may get wrong.
enum class Fault {
  None,
  BarrierDoesNothing,
  BroadcastAlwaysFromRankZero,
  BroadcastForgetsTheLastByte,
  ReductionInRankOrderInsteadOfTheTree,
  ReductionForgetsTheLastRank,
  ReductionSwapsItsArguments,
  ReductionWritesIntoTheSendBuffer,
  ReductionOfThePreviousCall,
  GatherIgnoresDisplacements,
  GatherClearsGaps,
  GatherMixesUpTwoRanks,
  RegionIsNotShared,
  RegionIsNotZeroFilled,
  FenceDoesNothing,
  EverybodyIsLeader,
  KeepsGoingAfterACallableThrew,
  GatherAlwaysToRankZero,
  ScatterGivesEveryoneTheFirstBlock,
  AlltoallIsNotTransposed,
  ReduceAlwaysToRankZero,
  ScanInRankOrderInsteadOfTheTree,
  ExscanIncludesTheRankItself,
  ReduceScatterGivesTheFirstBlock,
  MessagesOvertake,
  RealmsMeet,
  TagIgnored,
  MisfitIsLost,
  DroppedReceiveTakesItsMessage,
  ColourIgnored,
  KeyIgnored,
  PartsShareTheirMessages,
};

// Where a fault keeps something from coming that is waited for.
constexpr std::chrono::milliseconds patience_with_a_fault{1500};

}  // namespace conformance
