#include "comm/algorithms/tuning.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "comm/algorithms/subtrees.hpp"

namespace cobre::comm::algorithms {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t largest_piece = kibibyte * kibibyte;
constexpr std::size_t smallest_piece = 16 * kibibyte;
// From here on a reduction sends no more than it must. Costs that were measured at a bad moment may say otherwise.
constexpr std::size_t many_bytes = kibibyte * kibibyte;
constexpr std::size_t scratch_bytes = 8 * kibibyte * kibibyte;  // of one operation

/// The model. A message takes message + byte * length; a rank that sends several in a row is held up by each for about
/// half of what the message takes to arrive, and by its bytes.
struct Model {
  double ranks;
  double bytes;
  const Costs& costs;

  [[nodiscard]] double step(double length) const { return costs.message + costs.byte * length; }
  [[nodiscard]] double folding(double length) const { return costs.folded * length; }
  [[nodiscard]] double in_a_row(double messages, double length) const {
    return messages * (costs.message / 2 + costs.byte * length);
  }
};

double log2_up(std::size_t n) {
  return static_cast<double>(std::bit_width(n - 1));
}
double log2_of(std::size_t power_of_two) {
  return static_cast<double>(std::bit_width(power_of_two) - 1);
}

double pieces_of(double bytes, double piece) {
  return std::max(1.0, std::ceil(bytes / piece));
}

double cost_of_doubling(const Model& model, std::size_t ranks, double piece) {
  const Subtree first = subtree_of(0, ranks);
  const Subtree second = right_of(first, ranks);
  const double one_step =
      pieces_of(model.bytes, piece) * model.costs.message + model.costs.byte * model.bytes + model.folding(model.bytes);
  const double of_first = log2_of(first.size) * one_step;
  if (!second.exists()) return of_first;
  const double of_second =
      log2_of(second.size) * one_step +
      model.in_a_row(static_cast<double>(first.size) / static_cast<double>(second.size), model.bytes) +
      model.costs.message / 2;
  return std::max(of_first, of_second) + model.folding(model.bytes) + model.step(model.bytes);
}

double cost_of_rabenseifner(const Model& model, std::size_t ranks, double piece) {
  const Subtree first = subtree_of(0, ranks);
  const auto size = static_cast<double>(first.size);
  const double steps = 2 * log2_of(first.size) * pieces_of(model.bytes, 2 * piece);
  const double halving = model.bytes * (size - 1) / size;
  double total = steps * model.costs.message + 2 * model.costs.byte * halving + model.folding(halving);
  if (right_of(first, ranks).exists()) {
    // The smallest block takes everything in as many messages as there are ranks in the first for each of its own.
    const auto smallest = static_cast<double>(ranks & -ranks);
    total += (2 + size / smallest / 2) * model.costs.message + 2 * model.costs.byte * model.bytes / size +
             model.folding(model.bytes / size);
  }
  return total;
}

// Every rank sends and receives, in both halves, all but its own slice, and combines one slice of all.
double cost_of_slices(const Model& model, double piece) {
  const double rounds = pieces_of(model.bytes, piece * model.ranks);
  const double others = model.bytes * (model.ranks - 1) / model.ranks;
  return 2 * ((model.ranks - 1) * rounds * model.costs.message + model.costs.byte * others) + model.folding(others);
}

template <class Algorithm, std::size_t N>
Algorithm cheapest(const std::array<Algorithm, N>& candidates, std::size_t ranks, std::size_t bytes,
                   const Tuning& tuning) {
  return *std::ranges::min_element(candidates, {},
                                   [&](Algorithm algorithm) { return cost(algorithm, ranks, bytes, tuning); });
}

// What counts on shared cores is the work of all ranks together, and for short messages that is their number: with few
// ranks it saves more than the longer way costs.
bool messages_are_all(std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  constexpr std::size_t few = 8;
  return tuning.costs.shared_cores != 0 && ranks > 2 && ranks <= few && bytes <= smallest_piece;
}

std::size_t clamped_piece(double bytes, std::size_t smallest, std::size_t largest) {
  return static_cast<std::size_t>(
      std::clamp(bytes, static_cast<double>(std::min(smallest, largest)), static_cast<double>(largest)));
}

}  // namespace

bool is_sensible(const Costs& costs) noexcept {
  return std::ranges::all_of(std::array{costs.message, costs.byte, costs.folded},
                             [](double cost) { return cost >= 1e-9 && cost <= 1e9; });
}

bool is_exact(ReduceOp op, ElementType type) noexcept {
  // Integers wrap, and extremes have a total order (-0 below +0, the lower index of equals): all but rounding.
  if (op != ReduceOp::Sum && op != ReduceOp::Prod) return true;
  return type >= ElementType::Int8 && type <= ElementType::UInt64;
}

double cost(BroadcastAlgorithm algorithm, std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  const Model model{static_cast<double>(ranks), static_cast<double>(bytes), tuning.costs};
  switch (algorithm) {
    case BroadcastAlgorithm::Binomial: return log2_up(ranks) * model.step(model.bytes);
    case BroadcastAlgorithm::ScatterAllgather:
      return (log2_up(ranks) + model.ranks - 1) * model.costs.message +
             2 * model.costs.byte * model.bytes * (model.ranks - 1) / model.ranks;
    case BroadcastAlgorithm::Chain: {
      const auto piece = static_cast<double>(chain_piece_bytes(ranks, bytes, tuning));
      return (pieces_of(model.bytes, piece) + model.ranks - 2) * model.step(std::min(piece, model.bytes));
    }
  }
  return 0;
}

double cost(AllreduceAlgorithm algorithm, std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  const Model model{static_cast<double>(ranks), static_cast<double>(bytes), tuning.costs};
  const auto piece = static_cast<double>(reduction_piece_bytes(ranks, tuning));
  switch (algorithm) {
    case AllreduceAlgorithm::RecursiveDoubling: return cost_of_doubling(model, ranks, piece);
    case AllreduceAlgorithm::GatherAndFold:
      return log2_up(ranks) * model.costs.message + (model.ranks - 1) * model.bytes * model.costs.byte +
             model.folding((model.ranks - 1) * model.bytes);
    case AllreduceAlgorithm::Rabenseifner: return cost_of_rabenseifner(model, ranks, piece);
    case AllreduceAlgorithm::Pairwise:
    case AllreduceAlgorithm::Ring: return cost_of_slices(model, piece);
  }
  return 0;
}

double cost(AllgathervAlgorithm algorithm, std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  const Model model{static_cast<double>(ranks), static_cast<double>(bytes), tuning.costs};
  const double moving = model.costs.byte * model.bytes * (model.ranks - 1) / model.ranks;
  switch (algorithm) {
    case AllgathervAlgorithm::Ring: return (model.ranks - 1) * model.costs.message + moving;
    case AllgathervAlgorithm::Bruck:
      return log2_up(ranks) * model.costs.message + moving + model.folding(model.bytes);  // to its place: a copy
  }
  return 0;
}

double cost(RootedAlgorithm algorithm, std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  const Model model{static_cast<double>(ranks), static_cast<double>(bytes), tuning.costs};
  const double others = model.ranks - 1;
  switch (algorithm) {
    case RootedAlgorithm::Linear: return model.in_a_row(others, model.bytes) + model.costs.message / 2;
    case RootedAlgorithm::Binomial:
      // Half of the blocks take the whole way, and all are copied in and out of scratch memory.
      return log2_up(ranks) * model.costs.message + 1.5 * others * model.costs.byte * model.bytes +
             model.folding(2 * others * model.bytes);
  }
  return 0;
}

double cost(ReduceAlgorithm algorithm, std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  const Model model{static_cast<double>(ranks), static_cast<double>(bytes), tuning.costs};
  switch (algorithm) {
    case ReduceAlgorithm::Tree: return log2_up(ranks) * (model.step(model.bytes) + model.folding(model.bytes));
    case ReduceAlgorithm::Pairwise:
      return cost_of_slices(model, static_cast<double>(reduction_piece_bytes(ranks, tuning)));
  }
  return 0;
}

BroadcastAlgorithm choose_broadcast(std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  if (tuning.broadcast) return *tuning.broadcast;
  using enum BroadcastAlgorithm;
  // Broadcasts that follow each other are as fast as the rank that sends most. With up to four ranks that is the root
  // of the tree, whose messages take longer than the fair share of all messages on two cores; along the chain nobody
  // sends more than one.
  if (tuning.costs.shared_cores != 0 && ranks <= 4 && bytes <= smallest_piece) return Chain;
  return cheapest(std::array{Binomial, Chain, ScatterAllgather}, ranks, bytes, tuning);
}

AllreduceAlgorithm choose_allreduce(std::size_t ranks, std::size_t bytes, bool exact, const Tuning& tuning) {
  using enum AllreduceAlgorithm;
  const auto usual = [&] {
    if (bytes < many_bytes) {
      return cheapest(std::array{RecursiveDoubling, GatherAndFold, Rabenseifner, Pairwise}, ranks, bytes, tuning);
    }
    return std::has_single_bit(ranks) ? cheapest(std::array{Rabenseifner, Pairwise}, ranks, bytes, tuning) : Pairwise;
  };
  const AllreduceAlgorithm chosen = tuning.allreduce ? *tuning.allreduce : usual();
  if (chosen == Ring) return exact ? Ring : Pairwise;
  // The same costs, but a rank speaks with two others instead of all, and one piece lies in scratch memory.
  if (chosen == Pairwise && exact && !tuning.allreduce && ranks > 2) return Ring;
  return chosen;
}

AllgathervAlgorithm choose_allgatherv(std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  if (tuning.allgatherv) return *tuning.allgatherv;
  using enum AllgathervAlgorithm;
  if (bytes > scratch_bytes) return Ring;  // Bruck holds everything in scratch memory
  return cheapest(std::array{Ring, Bruck}, ranks, bytes, tuning);
}

RootedAlgorithm choose_rooted(std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  if (tuning.rooted) return *tuning.rooted;
  using enum RootedAlgorithm;
  if (bytes > scratch_bytes / ranks) return Linear;  // the tree holds all blocks in scratch memory
  return cheapest(std::array{Linear, Binomial}, ranks, bytes, tuning);
}

ReduceAlgorithm choose_reduce(std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  if (tuning.reduce) return *tuning.reduce;
  using enum ReduceAlgorithm;
  return cheapest(std::array{Tree, Pairwise}, ranks, bytes, tuning);
}

ScanAlgorithm choose_scan(std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  if (tuning.scan) return *tuning.scan;
  return messages_are_all(ranks, bytes, tuning) ? ScanAlgorithm::Chain : ScanAlgorithm::RecursiveDoubling;
}

ReduceScatterAlgorithm choose_reduce_scatter(std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  if (tuning.reduce_scatter) return *tuning.reduce_scatter;
  return messages_are_all(ranks, bytes, tuning) ? ReduceScatterAlgorithm::Tree : ReduceScatterAlgorithm::Pairwise;
}

std::size_t reduction_piece_bytes(std::size_t ranks, const Tuning& tuning) {
  if (tuning.piece_bytes) return *tuning.piece_bytes;
  // Bytes cost 32 times what the message costs that carries them.
  return clamped_piece(32 * tuning.costs.message / tuning.costs.byte, smallest_piece,
                       std::min(largest_piece, scratch_bytes / ranks));
}

std::size_t chain_piece_bytes(std::size_t ranks, std::size_t bytes, const Tuning& tuning) {
  if (tuning.piece_bytes) return *tuning.piece_bytes;
  if (ranks <= 2) return std::max<std::size_t>(bytes, 1);
  // (bytes / piece + ranks - 2) * (message + byte * piece) is least here.
  const double best = std::sqrt(static_cast<double>(bytes) * tuning.costs.message /
                                (static_cast<double>(ranks - 2) * tuning.costs.byte));
  return clamped_piece(best, smallest_piece, largest_piece);
}

}  // namespace cobre::comm::algorithms
