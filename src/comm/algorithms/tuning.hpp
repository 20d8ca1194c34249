// Which algorithm an operation uses: by what a message, a byte and the reduction of a byte cost on this machine, or as
// somebody demands. Every rank must hold the same values, because every rank chooses for itself.
#pragma once

#include <cobre/comm/base/reduce_op.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cobre::comm::algorithms {

/// In microseconds. The start values are those of TCP within one machine; calibrate() measures them.
struct Costs {
  double message = 5.0;     // one message, however short
  double byte = 0.25e-3;    // each byte of it
  double folded = 0.10e-3;  // each byte that is combined with another
  // Not 0: ranks outnumber cores, and what counts is the work, not the number of steps. As wide as the others, because
  // the costs travel from rank to rank and padding would take along whatever lay there.
  std::uint64_t shared_cores = 0;
};

/// Whether anything can cost that: what another rank measured is not believed beyond it, and lengths are made of it.
[[nodiscard]] bool is_sensible(const Costs& costs) noexcept;

enum class BroadcastAlgorithm : std::uint8_t { Binomial, ScatterAllgather, Chain };
enum class AllreduceAlgorithm : std::uint8_t { RecursiveDoubling, GatherAndFold, Rabenseifner, Pairwise, Ring };
enum class AllgathervAlgorithm : std::uint8_t { Ring, Bruck };
enum class RootedAlgorithm : std::uint8_t { Linear, Binomial };  // of gather and scatter with equal blocks
enum class ReduceAlgorithm : std::uint8_t { Tree, Pairwise };
enum class ScanAlgorithm : std::uint8_t { RecursiveDoubling, Chain };
enum class ReduceScatterAlgorithm : std::uint8_t { Pairwise, Tree };

struct Tuning {
  Costs costs;

  // What is set here is used whatever it costs. Where a reduction depends on its order, Pairwise stands in for Ring.
  std::optional<BroadcastAlgorithm> broadcast;
  std::optional<AllreduceAlgorithm> allreduce;
  std::optional<AllgathervAlgorithm> allgatherv;
  std::optional<RootedAlgorithm> rooted;
  std::optional<ReduceAlgorithm> reduce;
  std::optional<ScanAlgorithm> scan;
  std::optional<ReduceScatterAlgorithm> reduce_scatter;
  std::optional<std::size_t> piece_bytes;  // the longest message of those operations that are cut in pieces; not 0
};

/// Whether the result has the same bits in whatever order the ranks are combined (NaN payloads aside).
[[nodiscard]] bool is_exact(ReduceOp op, ElementType type) noexcept;

/// What an operation on `bytes` is expected to take, in microseconds; for allgatherv `bytes` are those of all ranks,
/// for gather and scatter those of one block.
[[nodiscard]] double cost(BroadcastAlgorithm algorithm, std::size_t ranks, std::size_t bytes, const Tuning& tuning);
[[nodiscard]] double cost(AllreduceAlgorithm algorithm, std::size_t ranks, std::size_t bytes, const Tuning& tuning);
[[nodiscard]] double cost(AllgathervAlgorithm algorithm, std::size_t ranks, std::size_t bytes, const Tuning& tuning);
[[nodiscard]] double cost(RootedAlgorithm algorithm, std::size_t ranks, std::size_t bytes, const Tuning& tuning);
[[nodiscard]] double cost(ReduceAlgorithm algorithm, std::size_t ranks, std::size_t bytes, const Tuning& tuning);

/// The demanded algorithm, or the cheapest; of equals the first.
[[nodiscard]] BroadcastAlgorithm choose_broadcast(std::size_t ranks, std::size_t bytes, const Tuning& tuning);
[[nodiscard]] AllreduceAlgorithm choose_allreduce(std::size_t ranks, std::size_t bytes, bool exact,
                                                  const Tuning& tuning);
[[nodiscard]] AllgathervAlgorithm choose_allgatherv(std::size_t ranks, std::size_t bytes, const Tuning& tuning);
[[nodiscard]] RootedAlgorithm choose_rooted(std::size_t ranks, std::size_t bytes, const Tuning& tuning);
[[nodiscard]] ReduceAlgorithm choose_reduce(std::size_t ranks, std::size_t bytes, const Tuning& tuning);
/// `bytes` are those of one rank's input; these two go by the number of messages alone, where ranks share cores.
[[nodiscard]] ScanAlgorithm choose_scan(std::size_t ranks, std::size_t bytes, const Tuning& tuning);
[[nodiscard]] ReduceScatterAlgorithm choose_reduce_scatter(std::size_t ranks, std::size_t bytes, const Tuning& tuning);

/// How long the messages are in which a long operation goes. Long enough that their number costs little, short enough
/// that what passes through scratch memory stays in the cache, and that the scratch memory of one operation is bounded.
[[nodiscard]] std::size_t reduction_piece_bytes(std::size_t ranks, const Tuning& tuning);
[[nodiscard]] std::size_t chain_piece_bytes(std::size_t ranks, std::size_t bytes, const Tuning& tuning);

}  // namespace cobre::comm::algorithms
