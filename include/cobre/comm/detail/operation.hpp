// What one collective call is: the record by which ranks recognise that they mean the same, and the arguments.
#pragma once

#include <cobre/comm/base/reduce_op.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cobre::comm {

/// Whether a reduction may be summed as the MPI library likes, or must give the canonical bits.
enum class Reproducible : std::uint8_t { Default, Yes };

namespace detail {

enum class Operation : std::uint8_t {
  Barrier,
  Broadcast,
  Allreduce,
  Allgatherv,
  CreateRegion,
  Fence,
  Allgather,
  Gather,
  Gatherv,
  Scatter,
  Scatterv,
  Alltoall,
  Alltoallv,
  Reduce,
  Scan,
  Exscan,
  ReduceScatterBlock,
  Split,
  Duplicate,
  Node,
  BroadcastResized,
  ReproducibleSum,
};
inline constexpr Operation last_operation = Operation::ReproducibleSum;

[[nodiscard]] constexpr const char* to_string(Operation operation) noexcept {
  constexpr std::array names{"barrier",
                             "broadcast",
                             "allreduce",
                             "allgatherv",
                             "create_shared_region",
                             "fence",
                             "allgather",
                             "gather",
                             "gatherv",
                             "scatter",
                             "scatterv",
                             "alltoall",
                             "alltoallv",
                             "reduce",
                             "scan",
                             "exscan",
                             "reduce_scatter_block",
                             "split",
                             "duplicate",
                             "node",
                             "broadcast_resized",
                             "reproducible_sum"};
  static_assert(names.size() == static_cast<std::size_t>(last_operation) + 1);
  return names[static_cast<std::size_t>(operation)];
}

/// Whether a length is known only to the two ranks between which it travels, so that no record can hold it.
[[nodiscard]] constexpr bool has_pairwise_lengths(Operation operation) noexcept {
  return operation == Operation::Gatherv || operation == Operation::Scatterv || operation == Operation::Alltoallv;
}

/// Whether data goes from one rank or to one rank alone, so that some ranks need not hear from anyone.
[[nodiscard]] constexpr bool is_rooted(Operation operation) noexcept {
  switch (operation) {
    case Operation::Broadcast:
    case Operation::BroadcastResized:
    case Operation::Gather:
    case Operation::Gatherv:
    case Operation::Scatter:
    case Operation::Scatterv:
    case Operation::Reduce: return true;
    default: return false;
  }
}

// What stands in a record where a ReduceOp would stand.
inline constexpr std::uint8_t no_reduction = 0xff;
inline constexpr std::uint8_t callable_reduction = 0xfe;

/// Everything on which the ranks of a collective must agree. 32 bytes, no padding: peers exchange it as it is.
struct OperationRecord {
  Operation operation = Operation::Barrier;
  std::uint8_t reduction = no_reduction;  // a ReduceOp, callable_reduction or no_reduction
  ElementType type = ElementType::Opaque;
  std::uint8_t reproducible = 0;
  std::uint32_t element_size = 0;
  // Elements of one rank or block; for allgatherv the hash of all counts; 0 where only pairs know their lengths.
  std::uint64_t count = 0;
  std::uint64_t root = 0;      // of a region, the wishes for its pages
  std::uint64_t sequence = 0;  // the how-manieth operation of this communicator

  friend bool operator==(const OperationRecord&, const OperationRecord&) = default;
};

/// One mixing step with full avalanche (the finaliser of SplitMix64): every input bit reaches every output bit.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// All counts of a v-operation as one number; their order matters.
[[nodiscard]] constexpr std::uint64_t hash_counts(std::span<const std::size_t> counts) noexcept {
  std::uint64_t hash = mix(counts.size());
  for (const std::size_t count : counts) hash = mix(hash ^ count);
  return hash;
}

/// The first field in which two records differ, by the name that the user knows; null when they agree.
[[nodiscard]] constexpr const char* differing_field(const OperationRecord& a, const OperationRecord& b) noexcept {
  if (a.sequence != b.sequence) return "sequence";
  if (a.operation != b.operation) return "operation";
  if (a.reduction != b.reduction) return "op";
  if (a.type != b.type || a.element_size != b.element_size) return "type";
  if (a.count != b.count) return a.operation == Operation::Allgatherv ? "counts" : "count";
  if (a.root != b.root) return a.operation == Operation::CreateRegion ? "options" : "root";
  if (a.reproducible != b.reproducible) return "reproducible";
  return nullptr;
}

}  // namespace detail
}  // namespace cobre::comm
