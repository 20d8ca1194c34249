// Which algorithm an operation uses: by what a message, a byte and the reduction of a byte cost on this machine, or as
// a test demands. Every rank must hold the same values, because every rank chooses for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cobre::comm::algorithms {

/// In microseconds. The start values are those of loopback TCP; calibrate() measures them.
struct Costs {
  double message = 5.0;     // one message, however short
  double byte = 0.25e-3;    // each byte of it
  double folded = 0.10e-3;  // combining two bytes into one
};

enum class BroadcastAlgorithm : std::uint8_t { Binomial, ScatterAllgather, Chain };
enum class AllreduceAlgorithm : std::uint8_t { GatherAndFold, RecursiveDoubling, Rabenseifner, Pairwise, Ring };
enum class AllgathervAlgorithm : std::uint8_t { Bruck, Ring };

struct Tuning {
  Costs costs;

  // What is set here is used whatever it costs.
  std::optional<BroadcastAlgorithm> broadcast;
  std::optional<AllreduceAlgorithm> allreduce;  // Ring only where the reduction is exactly associative
  std::optional<AllgathervAlgorithm> allgatherv;
  std::optional<std::size_t> piece_bytes;  // the longest message that passes through scratch memory
};

}  // namespace cobre::comm::algorithms
